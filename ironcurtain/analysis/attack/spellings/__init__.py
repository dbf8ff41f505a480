"""Ways to write a call so that the kernel, git, browsers or tools take it for the same.

In: a value of an argument with its role. Out: further values, each named by what was done to it. Open
`spelling.py` first; each other module has the spellings of one kind of value.
"""
