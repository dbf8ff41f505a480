"""The decision matrix: what a policy decides about every tool, role and place.

In goes a bundle and an assumed world; out comes a `Matrix`, as JSON, text or HTML. Begin with `matrix.py`.
"""
