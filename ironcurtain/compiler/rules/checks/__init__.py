"""Checks of rules, written by hand or answered by a model: in go a policy and its tools, out come all errors.

Open `policy.py` first.
"""
