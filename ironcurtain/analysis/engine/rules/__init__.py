"""Rules as one tool sees them: predicates, decision lists and the diagrams that are made of them.

In go a bundle's rules; out come `RuleOfTool`s, paths through diagrams, and paths in words for people. Begin
with `rules.py`, then `diagram.py`.
"""
