"""IronCurtain in other programs: MCP clients, pull requests, editors, and the check of an installation.

In: what those programs have on disk. Out: their files changed and reports about them. Each package stands
alone: `clients/` (configurations behind the proxy), `gate/` (checks before publishing), `doctor/`,
`editor/`.
"""
