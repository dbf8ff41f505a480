"""The mutation score: how many small changes of a policy its own evidence notices.

In: a policy with its scenarios, guarantees and tests. Out: a `MutationReport`. Open `score.py` first;
`operators.py` has the changes.
"""
