"""Requests that may happen, on their way to servers: the call that each is decided as, and what is sent.

In: a client's request, and its arguments as they were evaluated. Out: the server's answer. Open
`to_server.py` first.
"""
