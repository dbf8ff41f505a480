"""Why one call is decided as it is, and what would get further.

In go a policy and a call (or a clause, or a record of the audit log); out comes an `Explanation`. Begin with
`explain.py`; what the agent may be told is in `agent_view.py`.
"""
