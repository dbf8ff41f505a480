"""Live tools compared with the annotations of a policy.

In go a bundle and the tool lists of its servers; out comes a `DriftReport` of changed tools and the rules
that they touch. Begin with `drift.py`.
"""
