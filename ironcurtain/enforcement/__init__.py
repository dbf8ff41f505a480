"""Enforcement: tool calls come in over MCP, and only what the policy permits goes on to a server.

In: a signed or checked bundle, `mcp-servers.json`, and a client's calls. Out: servers' answers, or
refusals, and a sealed audit record of every decision. Open `proxy/calls/enforce.py` first: the order of
everything that a call meets. `approvals`, `audit` and `sandbox` are what it asks, writes and starts.
"""
