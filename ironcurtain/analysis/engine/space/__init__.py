"""The call space of one tool: variables with their classes, sources with their elements, equivalence classes.

In go a tool's annotation and policies in an assumed world; out comes a `CallSpace`, which asks nothing of
OPA. Begin with `call_space.py`.
"""
