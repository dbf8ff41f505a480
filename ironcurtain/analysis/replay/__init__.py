"""Recorded calls decided under another policy.

In: records of an audit log and a bundle. Out: a `Replay`, which says `unknown` where a record does not
determine the answer. Open `replay.py` first; `pseudonymization.py` makes records that hold no values.
"""
