"""Why one call is decided as it is, and which calls near it would get further.

In: a policy and a call (or a clause, or a record of the audit log). Out: an `Explanation`, for operators.
Open `explain.py` first. What an agent is told instead is `ironcurtain.decision.agent_view`.
"""
