"""The providers of answers: a file each, chosen by `choose.py` from the model that a user names.

In goes a `ModelRequest`; out comes a `ModelReply`, or a `CallError` that says whether a repetition can help.
Begin with `anthropic.py`; `manual.py` is a person who answers in files.
"""
