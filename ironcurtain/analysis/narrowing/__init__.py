"""Tools' input schemas, reduced to what a policy could permit.

In: a bundle and the deployment where it is enforced. Out: a `Narrowing`, with tools that can be hidden and
narrower schemas for the others. Open `narrowing.py` first.
"""
