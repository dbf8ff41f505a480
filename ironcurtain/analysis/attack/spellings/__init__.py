"""Ways to write a call so that kernel, git, browsers or tools take it for the same.

In goes a value of an argument with its role; out come further values, each named by what is done to it. Begin
with `spelling.py`; each other module holds the spellings of one kind.
"""
