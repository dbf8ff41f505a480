"""What the rules of a policy could let a server reach: an upper bound, as paths and domains.

In: the rules of a bundle. Out: `Reach`, and per machine the places to open, less what is never opened
(sign-ins, code in repositories). Open `reach.py` first; `opened.py` applies it to a machine.
"""
