"""Output policies: what of a tool's answer leaves, by rules that name places in it.

In: rules, each a path and an action, and an answer. Out: what is left of it, with counts for the record. Open
`policy.py` first; `paths.py` reads the paths, `rules.py` orders the rules, `automaton.py` follows them.
"""
