"""Enforcement: an agent's calls come in, and only what the policy permits goes on to where it is done.

In: a signed or checked bundle, and calls. Out: answers, or refusals, and a sealed audit record of every
decision. Open `calls/enforce.py` first: the order of everything that a call meets, whoever made it.
`approvals`, `audit`, `facts` and `sandbox` are what it asks, writes, knows and starts; `proxy` speaks MCP.
"""
