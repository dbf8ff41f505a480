"""Totals of callers: exact amounts, what a call adds to them, and the stores that keep them."""
