"""Defects of a policy: rules that decide nothing, what is open by mistake, what nobody tests.

In goes the analysis of a policy with its scenarios and waivers; out comes a `FindingReport`, each finding
with a whole call or a proof. Begin with `findings.py`, which lists the kinds; each kind is described in
`docs/findings/`.
"""
