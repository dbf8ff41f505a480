"""The mutation score: how many small changes of a policy its own evidence notices.

In go a policy with its scenarios, guarantees and tests; out comes a `MutationReport`. Begin with `score.py`;
the changes are in `operators.py`.
"""
