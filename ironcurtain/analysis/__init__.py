"""What can be said about all calls of a policy, without a model.

In goes a bundle (or two), an assumed world and OPA; out come reports, each capability in a folder of its own
with its report model and text. Begin with `engine/README.md`, which says what is exact and why.
"""
