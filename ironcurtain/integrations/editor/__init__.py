"""The language server for editors: what `lint`, `compile` and `verify` say, while somebody types.

In come texts, saved or not; out go `Mistake`s with their places. `server.py` alone speaks the protocol; open
`diagnose.py` first.
"""
