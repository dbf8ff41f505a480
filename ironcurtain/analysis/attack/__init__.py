"""Searches for spellings of a call that are decided more openly than the call itself.

In: a bundle, its scenarios and recorded calls (and, with `live.py`, its servers). Out: an `AttackReport` of
what was found, which proves nothing. Open `run.py` first; `spellings/` has the ways to respell a value.
"""

MAXIMUM = 20_000
"""So many respelled calls are decided, unless somebody says otherwise."""
