"""Which equivalence classes and rules the scenarios and guarantees of a policy reach.

In go the analysis of a policy and its decided scenarios; out comes a `CoverageReport`. Begin with
`coverage.py`.
"""
