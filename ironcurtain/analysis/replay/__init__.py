"""Recorded calls decided under another policy.

In go records of an audit log and a bundle; out comes a `Replay`, which says "unknown" where a record
does not determine the answer. Begin with `replay.py`; tests made of records are pseudonymized.
"""
