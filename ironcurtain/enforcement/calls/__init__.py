"""The way of one call: admit, evaluate, ask a person, evaluate again, book, record, send, record, filter.

In: a `Call`, the `Destination` that it goes to, and the `Asker` who made it. Out: the destination's result,
or `RefusedError` with what the agent is told. Nothing here knows MCP. Open `enforce.py` first; the other
modules are its steps: `declared_facts.py` gathers and books, `reach.py` knows what sandboxes let through,
`approval_broker.py` waits for a person, `path_locks.py` lets calls on the same paths wait for each other,
`repeated_calls.py` stops a call that is repeated without end, `sending.py` sends, `outputs.py` filters the
answer, `refusal.py` refuses.
"""
