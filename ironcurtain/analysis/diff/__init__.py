"""The semantic difference of two policies: which calls they decide differently.

In go two bundles and an assumed world; out comes a `Difference`, each change with a whole call that shows it.
Begin with `difference.py`, which finds what changed; `statements.py` joins it to few statements.
"""
