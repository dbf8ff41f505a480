"""Receipts: recorded decisions in a file of their own, which anyone can decide again without IronCurtain.

In: an audit log, a choice of its decisions, and the bundle that decided them. Out: a `Receipt`, or a sentence
that says what a record lacks. Open `receipt.py` first; `report.py` is the file. Called by
`ironcurtain audit receipt`.
"""
