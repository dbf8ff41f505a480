"""Stage 4, resolve lists: the members of every `@name` that a rule uses.

In go the rules and `lists.json`; out come `Lists` with members. Begin with `lists.py`, which asks nobody;
`resolve.py` calls the tool that fills a list, `edit.py` keeps what people add and remove.
"""
