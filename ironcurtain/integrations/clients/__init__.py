"""Configurations of MCP clients: their servers moved behind the proxy, and back again byte for byte.

In: a client's configuration file (`target.py` knows where). Out: the same file with one server, the proxy,
a backup and a `ClientReport`. Open `wrap.py` first, then `unwrap.py`; `target.py` also reads and writes
the file.
"""
