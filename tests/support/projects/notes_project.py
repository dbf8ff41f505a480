"""The tiny project with its tool lists saved, and a model that says of its tools and clauses what is so."""

from __future__ import annotations

import copy
import json
from typing import Any

from e2e.program import Ended
from fixtures.tiny_project import ANNOTATIONS, RULES, write_project

from support.projects.modelled import Modelled, Place

LIST = {
    "name": "list_tags",
    "description": "Lists all tags.",
    "inputSchema": {"type": "object", "properties": {}},
}
READ: dict[str, Any] = {
    "name": "read_note",
    "description": "Reads a note.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
# That a tool is contained only a person can say.
TOOLS = {"tools": [ANNOTATIONS["tools"][0], {**ANNOTATIONS["tools"][1], "contained": False}]}
COMPILE = ("compile", "--model", "m", "--saved-tools")


class Notes(Modelled):
    """The tiny project; its server cannot be started."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        write_project(self.directory)
        self.write_tools(READ)
        self.write_server()
        self.answers |= {"annotate": [TOOLS], "rules": [RULES]}

    def write_tools(self, read: Any) -> None:
        (self.directory / "notes.json").write_text(json.dumps({"tools": [LIST, read]}))

    def write_server(self, *, saved: bool = True) -> None:
        server = {"command": "/nowhere/at-all"} | ({"tools": "notes.json"} if saved else {})
        (self.directory / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": server}}))

    def compile(self, *arguments: str) -> Ended:
        return self.run(*COMPILE, *arguments)


def rules_about(*within: str) -> dict[str, Any]:
    """Return the project's rules with other directories in the one that allows reading."""
    changed = copy.deepcopy(RULES)
    changed["rules"][0]["if"]["paths"][0]["within"] = list(within)
    return changed
