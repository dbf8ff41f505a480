"""IronCurtain in other programs: MCP clients, agent frameworks, pull requests, editors, an installation.

In: what those programs have on disk, or a framework's calls. Out: their files changed, calls decided, and
reports. Each package stands alone: `clients/` (configurations behind the proxy), `frameworks/` (middleware),
`gate/` (checks before publishing), `blame/` (since when a call is permitted), `doctor/`, `editor/`.
"""
