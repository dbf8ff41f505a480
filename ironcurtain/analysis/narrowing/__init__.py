"""Tools' input schemas cut down to what a policy could permit.

In go a bundle and the place where it is enforced; out comes a `Narrowing`: tools that are hidden, and
narrower schemas. Begin with `narrowing.py`.
"""
