"""Approvals: the proxy asks, a person answers in another program, and each answer is used once.

In: an escalated decision. Out: an `Outcome` that is good for exactly the call that was shown. The two
programs meet in a private directory of files; `store.py` lists these files and argues about crashes, so
open it first, then `broker_directory.py` (the proxy's side; the waiting call itself is in
`ironcurtain/enforcement/proxy/calls/approval_broker.py`) and `inbox.py` (the person's side).
"""
