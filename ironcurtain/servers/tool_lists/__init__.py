"""The tool lists of servers: read live, from saved files, or as the last compile recorded them.

In goes a `ServerConfig`, with what starts servers; out come `ToolListing`s by server. Open `listing.py`
first; `session.py` is what is said to a server, `ahead.py` reads lists while a program is loaded;
`published.py` is the record beside a bundle.
"""
