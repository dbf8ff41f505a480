"""Canonical forms: what a call's arguments name, each thing in one spelling (specification 1).

In: valid arguments and a view of the host (`host_view.py`). Out: canonical arguments, which are decided and
sent, and the resources that they name; or `UnrepresentableError`. Open `arguments.py` first, then one file
a kind of resource: `paths.py`, `urls.py`, `identifiers.py`, `git/`; `patterns.py` says what a pattern
covers.
"""
