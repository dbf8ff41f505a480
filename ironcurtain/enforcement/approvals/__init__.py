"""Approvals: the proxy asks, a person answers in another program, and each answer is used once.

In: an escalated decision. Out: an `ApprovalOutcome` that is good for exactly the call that was shown, or,
if the person says so, for the calls of the session that `grants.py` takes for the same. The two programs
meet in a private directory of files; `store.py` lists these files and argues about crashes, so open it
first, then `broker_directory.py` (the proxy's side; the waiting call itself is in
`ironcurtain/enforcement/calls/approval_broker.py`) and `inbox.py` (the person's side).
"""
