"""Live tools compared with the annotations of a policy.

In: a bundle and the tool lists of its servers. Out: a `DriftReport` of changed tools and the rules that they
concern. Open `drift.py` first.
"""
