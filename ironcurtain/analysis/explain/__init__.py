"""Why one call is decided as it is, and which calls near it would get further.

In: a policy and a call (or a clause, or a record of the audit log). Out: an `Explanation`. Open `explain.py`
first; `agent_view.py` has the part of it that an agent may be told.
"""
