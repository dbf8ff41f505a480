"""The client's side of the proxy: connections over stdio and Streamable HTTP, and who is behind them.

In: bytes of a client. Out: MCP requests with the client's identity, and the way back to the client while
a request is answered. Open `client_requests.py` first; `stdio.py` and `http.py` are the two transports.
"""
