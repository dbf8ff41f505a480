"""Publishing a bundle to where fleets fetch it, never replacing a newer one.

In: a bundle and a destination. Out: the bundle at that place, or why it may not replace what is there.
Open `rollback_check.py` first: the rule; the other modules are one kind of destination each.
"""
