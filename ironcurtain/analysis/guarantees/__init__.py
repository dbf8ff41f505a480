"""Deciding guarantees: each is proved over all calls, broken by one whole call, or neither.

In go a bundle, guarantees and an assumed world; out comes a `GuaranteeReport`. The report's model is the
vocabulary of `ironcurtain.model.guarantees`; all of the rest is in `guarantees.py`.
"""
