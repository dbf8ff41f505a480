"""What becomes of each clause of a constitution: kept by rules, by other means, or not.

In: the analysis of a policy, and the claims of the answers it was compiled from. Out: a `ClauseReport`.
Open `outcomes.py` first.
"""
