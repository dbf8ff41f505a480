"""What several commands take: click options in, the things they name out (a bundle, a project, a key).

Open `options.py` first: it holds the options themselves; the other files read what they name.
"""
