"""Servers that are packages of npm or PyPI: fetched once, pinned by digest, then run without the network.

In: a server's command such as `npx -y NAME`. Out: an installed tree that the lock file names by its digest.
Open `request.py` first (what a command asks for), then `fetch.py`; `npm.py` and `pypi.py` are one registry
each.
"""
