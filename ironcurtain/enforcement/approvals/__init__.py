"""Approvals: the proxy asks, a person answers in another program, and each answer is used once.

In: an escalated decision. Out: an `Outcome` that is good for exactly the call that was shown. The two
programs meet in a private directory of files; `store.py` lists these files and argues about crashes, so
open it first, then `broker_directory.py` (the proxy's side) and `inbox.py` (the person's side).
"""
