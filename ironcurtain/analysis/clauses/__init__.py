"""What becomes of each clause of a constitution: kept by rules, by other means, or not.

In go the analysis of a policy and the claims of the answers it was compiled from; out comes a `ClauseReport`.
Begin with `outcomes.py`.
"""
