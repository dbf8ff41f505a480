"""A copy of the shipped project in which one word of the constitution names a wider directory.

The change is compiled like any other: its questions are answered by hand, with the answers that the shipped
result keeps, and with the one rule's directory changed as the sentence says.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROJECT = (
    "constitution.md",
    "mcp-servers.json",
    "scenarios.yaml",
    "confirmations.yaml",
    "guarantees.yaml",
    "ironcurtain.toml",
)
BEFORE = "- The agent may read files in the Documents folder.\n"
AFTER = "- The agent may read files in the root folder.\n"
RULE, WIDENED = "filesystem-allow-read-documents", "/"
ITEM = re.compile(r"^(?=  - id: )", re.MULTILINE)


@dataclass(frozen=True)
class Widened:
    """The two projects: `main` as it is shipped, `change` with another word, not yet compiled."""

    directory: Path

    @property
    def main(self) -> Path:
        return self.directory / "main"

    @property
    def change(self) -> Path:
        return self.directory / "change"

    def take_away(self, file: str, ids: Collection[str]) -> None:
        """Remove listed items from a YAML file of the changed project."""
        path = self.change / file
        begin, *items = ITEM.split(path.read_text())
        kept = [item for item in items if item.split()[2] not in ids]
        assert len(items) - len(kept) == len(ids)
        path.write_text(begin + "".join(kept))

    def accept(self, findings: Collection[str]) -> None:
        """Accept findings about the changed project, for good."""
        listed = [{"id": id_, "reason": "It is meant so.", "expires": "2999-12-31"} for id_ in findings]
        document = {"format": "ironcurtain/waivers/v1", "waivers": listed}
        (self.change / "waivers.yaml").write_text(json.dumps(document))


def widened(directory: Path) -> Widened:
    """Return the projects, with the tool lists of the last compile and the change's questions answered."""
    made = Widened(directory)
    for project in (made.main, made.change):
        project.mkdir()
        for name in PROJECT:
            shutil.copyfile(ROOT / name, project / name)
        shutil.copytree(ROOT / "generated", project / "generated")
    text = (made.change / "constitution.md").read_text()
    assert text.count(BEFORE) == 1
    (made.change / "constitution.md").write_text(text.replace(BEFORE, AFTER))
    _save_tools(made.change)
    _answer(made.change)
    return made


def _save_tools(project: Path) -> None:
    path = project / "mcp-servers.json"
    document = json.loads(path.read_text())
    for name, server in document["mcpServers"].items():
        shutil.copyfile(ROOT / "generated" / "tools" / f"{name}.json", project / f"tools-{name}.json")
        server["tools"] = f"tools-{name}.json"
    path.write_text(json.dumps(document))


def _answer(project: Path) -> None:
    """Put the kept answers where a person would put theirs."""
    (project / "questions").mkdir()
    for path in (project / "generated" / "answers").glob("*.json"):
        kept = json.loads(path.read_text())
        if kept["stage"] == "annotate":
            continue
        for rule in kept["content"].get("rules", ()):
            if rule["name"] == RULE:
                rule["if"]["paths"][0]["within"] = [WIDENED]
        (project / "questions" / f"{kept['key']}.answer.json").write_text(json.dumps(kept["content"]))
