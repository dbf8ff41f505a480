"""The shared vocabulary: frozen data that several packages read and write, each a strict JSON document.

In: JSON of our own formats. Out: validated values; an unknown key or a loose type is an error. Open
`policy.py` (rules) and `annotations.py` (tools) first; `reserved_rules.py` has every rule name that the
product itself gives.
"""
