"""Declared facts at run time: records that are looked up, the memory of a session, totals, the clock.

In: a call after step 5, the declarations of its policy, and who answers look-ups. Out: the facts that it is
decided on, and what is booked when it is sent. Open `gather.py` first: the order in which facts are found;
`additions.py` says what one call adds, `store.py` keeps totals of callers, `memory.py` is the fold over the
session's audit log, and `followed.py` the same fold over calls that are told as data.
"""
