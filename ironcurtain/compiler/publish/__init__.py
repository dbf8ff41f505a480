"""Stage 8, publish: the files of a result, put into the place of the previous ones at once.

In go the documents of a compile; out come the files of the output directory. Open `publish.py`.
"""
