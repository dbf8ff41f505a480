"""The checks of the gate, one file a group.

In: a `PolicyUnderReview`. Out: `Check`s, each passed, failed or skipped with the reason. Open
`all_checks.py` first.
"""
