"""Scenarios: calls with the verdicts that they must get, and calls without one for comparison.

In go clauses, annotations and people's `scenarios.yaml`; out come scenarios of a model (`intent.py`) and
generated calls (`generated.py`). Begin with `checks.py`, which says what a scenario must be to come true.
"""
