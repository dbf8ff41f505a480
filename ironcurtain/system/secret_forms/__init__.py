"""What a secret looks like: the one list of names and forms for logs, status, messages and key stores.

In: a text, or the name of an argument, variable or header. Out: the text with marks in the place of its
secrets, or whether the name says that its value is one. Open `hiding.py` first; `names.py` has the names and
the ways in which a text gives a name its value, `tokens.py` what is a secret by its own form, `numbers.py`
cards and social security. Everything is matched in time linear in the text.
"""
