"""The proxy: one MCP server towards the client, one MCP client towards each server behind it.

In: requests of clients over stdio or HTTP. Out: requests that the policy permits, to the servers, and
their answers. Open `runner.py` first: it starts everything in order, servers by `started_servers.py`, from
what `options.py` says; then `serving.py`, which serves with it, `mcp_endpoint.py` (what a client can ask),
`forwarding/` (what servers are sent) and `upstream/upstream.py` (the life of one server).
"""
