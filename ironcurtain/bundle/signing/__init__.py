"""Signatures of bundles, in the form that OPA itself verifies.

In: a bundle's files and a key. Out: `.signatures.json`, or whether it holds. Open `signature.py` first.
"""
