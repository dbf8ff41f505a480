"""Stage 1, load: everything that a compile reads from the project.

In go the constitution, the settings and the files beside it; out come `Inputs`, with the constitution split
into clauses. Begin with `load.py`; `clauses.py` says what a clause is, `linter.py` what is wrong with one.
`init.py` writes the files of a new project, `customize.py` edits the user's own guidance.
"""
