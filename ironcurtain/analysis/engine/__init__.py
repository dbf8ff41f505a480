"""Examines a policy over all calls: tells apart what it can tell apart, and asks OPA once for each.

In go a bundle (`analyse_policy`) or two (`load_policies`, `CallSpace`, `examine`) and an assumed world; out
come OPA's answers by tool and equivalence class, with the gaps that take a proof away. Read `README.md`
first, then `policy_analysis.py`.
"""
