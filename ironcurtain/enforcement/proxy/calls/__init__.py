"""The way of one call: decide, ask a person, decide again, record, forward, record the result.

In: a `Call` and a function that forwards it. Out: the server's result, or `RefusedError` with what the
agent is told. Open `enforce.py` first; the other modules are its steps: `declared_facts.py` gathers
and books, `approval_broker.py` waits for a person, `turns.py` lets calls on the same paths wait for each
other, `repeated_calls.py` stops a call that is repeated without end, `forwarding.py` sends, `outputs.py`
filters the answer, `refusal.py` refuses.
"""
