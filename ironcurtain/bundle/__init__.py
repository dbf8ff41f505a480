"""Bundles: a compiled policy as an OPA bundle that is read strictly and written reproducibly.

In: a directory, an archive, or files of a compile. Out: a `Bundle` whose content matches its revision.
Open `opening.py` first: the only way from a path to a bundle that is used; then `archive.py` (the value)
and `content.py` (what enforcement reads from it).
"""
