"""The compile: a constitution in English and the tools of servers become a verified bundle.

In go the project's files and the servers' tool lists; out comes a published directory with the bundle, its
tests and reports. Begin with `build.py`, which lists the stages: each is a folder here. Whom the stages ask
is in `questions/` and `llm/`.
"""
