"""The gate: everything that must hold before a policy is published or merged, as one list of checks.

In: a bundle with its sources, or the state of a git branch. Out: a `GateReport` of checks that passed,
failed or could not be made. Open `checks/all_checks.py` first, the list; `reading.py` finds what is
reviewed, `report.py` compares it with an older policy.
"""
