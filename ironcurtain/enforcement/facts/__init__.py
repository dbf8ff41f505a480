"""Declared facts at run time: records that are looked up, the memory of a session, totals, the clock.

In: a call after step 5, the declarations of its policy, and who answers look-ups. Out: the facts that it is
decided on, and what is booked when it is sent. Open `gather.py` first: the order in which facts are found.
`records/` are looked up, `totals/` has what one call adds and the stores, `user/` what the user wrote;
`memory.py` is the fold over the session's audit log, and `followed.py` the same over calls told as data.
"""
