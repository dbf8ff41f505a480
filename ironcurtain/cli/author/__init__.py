"""Commands that write a policy: one file a command, named like it.

`compile.py` is the centre: project in, verified bundle out. `authoring.py` holds what those that ask a
model share (the spending limit, the project's clauses); `compile_watch.py` is `compile --watch`;
`compile_settings.py` is what both go by.
"""
