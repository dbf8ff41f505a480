"""Agent sessions: a model and its tools, where every tool call is enforced in this process.

In: a task of a person, a model, a bundle and servers. Out: the model's answers, and the effects of the calls
that the policy permits. Open `session.py` first (one turn, from the person's words to the answer); then
`create.py` (what a session opens, in order) and `toolset.py` (how a tool call reaches enforcement).
"""
