"""The kinds of findings, a module each; those that one search tells apart share one.

A module's finder takes `FinderInputs` and yields `FindingDraft`s (`../finder.py`). `all_kinds.py` lists them.
"""
