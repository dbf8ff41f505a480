"""The way of one call: decide, ask a person, decide again, record, forward, record the result.

In: a `Call` and a function that forwards it. Out: the server's result, or `RefusedError` with what the
agent is told. Open `enforce.py` first; the other modules are its steps: `approval_broker.py` waits for a
person, `forwarding.py` sends, `refusal.py` refuses.
"""
