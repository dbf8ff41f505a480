"""Defects of a policy: rules that decide nothing, what is open by mistake, what nobody tests.

In: the analysis of a policy, its scenarios and waivers. Out: a `FindingReport`, each finding with a witness
or a proof. Open `findings.py` first; `kinds/` has one finder for each kind, which `docs/findings/` explains.
"""
