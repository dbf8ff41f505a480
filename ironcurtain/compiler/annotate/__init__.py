"""Stage 2, annotate: what each argument of each tool is.

In go the tool lists of servers; out come `Annotations`, checked against the tools' schemas. Begin with
`annotate.py`; `questions.py` is what a model is asked, `checks.py` and `heuristics.py` hold its answers to
the tools.
"""
