"""MCP servers: their configuration, how they are started, and the tools that they list.

In: `mcp-servers.json`. Out: a checked `ServerConfig`, tool lists and the results of single calls at compile
time. Open `config.py` first, then `tool_lists/`; `fetched/` has servers that are packages of a registry.
What servers answer is written by strangers: bounded, parsed strictly and never shown raw.
"""
