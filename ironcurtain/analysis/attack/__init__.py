"""Searches for spellings of a call that are decided more openly than the call itself.

In go a project's scenarios and its bundle (and, live, its servers); out comes an `AttackReport` of what was
found. It proves nothing. Begin with `run.py`; spellings are in `spellings/`.
"""
