"""A person at a command line who permits everything: the policy, the wrapped client, and what goes wrong.

The policy is made by `init`, `servers fetch`, `annotate` and `bundle`; then a client's configuration is
wrapped. Where a command or the proxy says by which command of ours a failure is mended, the person types
that, and tries again what failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from field.place import CommandError, Home

ROUNDS = 6
"""How often something is tried again after it was mended."""

_REMEDY = re.compile(r"`((?:mkdir -p [^`]* && )?ironcurtain servers (?:add|permit) [^`]*--[^`]*)`")
_QUESTIONED = re.compile(r"<tools-data>\n(.*?)\n</tools-data>", re.DOTALL)
_PLACES = re.compile(r'"place": \{"enum":(\[.*?\])\}')
_LOOKS = re.compile(r'argument "([^"]+)" of "([^"]+)" (looks like an? (\w+)|\S+.*several)')
_ROLES = {"path": ["read-path", "write-path"], "URL": ["fetch-url"], "address": ["recipient"]}
Roles = dict[tuple[str, str], dict[str, Any]]


@dataclass
class Person:
    """Somebody in a home.

    Attributes:
        mended: Commands that a message named and that were typed.
    """

    home: Home
    mended: list[str] = field(default_factory=list)

    def make_policy(self, servers: Mapping[str, Any]) -> None:
        """Make a bundle that permits everything these servers offer.

        Raises:
            CommandError: If a step fails and names nothing that mends it.
        """
        project = self.home.project
        (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": servers}, indent=2))
        self.home.type("ironcurtain", "init", "--quiet")
        self.home.type("ironcurtain", "servers", "fetch")
        self.mending(self._annotate)
        (project / "rules.json").write_text(json.dumps(_permissive(list(servers))))
        files = ("--policy", "rules.json", "--annotations", "annotations.json", "--output", "bundle")
        self.home.type("ironcurtain", "bundle", *files)

    def wrap(self, *client: str) -> None:
        """Wrap a client, named as one names it to `wrap`.

        Raises:
            CommandError: If that fails and names nothing that mends it.
        """
        self.mending(lambda: self.home.type("ironcurtain", "wrap", *client, *self.options(), "--yes"))

    def options(self) -> tuple[str, ...]:
        """Return the options of `wrap` for the policy that was made."""
        bundle, work = self.home.project / "bundle", self.home.path / "work"
        return "--bundle", str(bundle), "--sandbox", str(work)

    def mending(self, step: Callable[[], object]) -> None:
        """Do a step; where it fails and names what mends it, do that and the step again."""
        for _ in range(ROUNDS):
            try:
                step()
            except CommandError as error:
                if not self.mend(str(error)):
                    raise
            else:
                return

    def mend(self, text: str) -> bool:
        """Type the commands that a text names, unless all were typed before; tell whether there was one."""
        named = [each for each in dict.fromkeys(_REMEDY.findall(text)) if each not in self.mended]
        for each in named:
            self.mended.append(each)
            self.home.type("sh", "-c", each, ok=(0, 1, 2, 3, 4))
        return bool(named)

    def refusal(self) -> str:
        """Return why the last call was not permitted, as the audit log says; empty if it was."""
        logs = (self.home.path / ".ironcurtain" / "audit").glob("*.jsonl")
        lines = [line for log in sorted(logs, key=lambda each: each.stat().st_mtime) for line in log.open()]
        records = [json.loads(line)["record"] for line in lines]
        decided = [record for record in records if record["kind"] == "decision"]
        if not decided or decided[-1]["verdict"] == "allow":
            return ""
        return f"{decided[-1]['rule']}: {decided[-1]['reason']}"

    def _annotate(self) -> None:
        """Annotate as one does who gives an argument the role that it looks to have, and else none."""
        roles: Roles = {}
        for _ in range(ROUNDS):
            try:
                printed = self.home.type("ironcurtain", "annotate", "--format", "json")
            except CommandError as error:
                looked = dict(_looked(str(error)))
                if not looked and not list(self._questions()):
                    raise
                roles |= looked
                for question in self._questions():
                    answer = _answer(question.read_text(), roles)
                    question.with_suffix(".answer.json").write_text(json.dumps(answer))
            else:
                (self.home.project / "annotations.json").write_text(printed)
                return
        raise CommandError(self.home.typed[-1])

    def _questions(self) -> Iterator[Path]:
        return (self.home.project / "questions").glob("*.md")


def _permissive(servers: list[str]) -> dict[str, Any]:
    rule = {"name": "everything", "clause": "C1", "reason": "All is permitted.", "then": "allow"}
    return {
        "format": "ironcurtain/policy/v1",
        "clauses": [{"id": "C1", "text": "The agent may do everything."}],
        "rules": [{**rule, "if": {"server": servers}}],
    }


def _looked(printed: str) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    for argument, tool, _, kind in _LOOKS.findall(printed):
        yield (tool, argument), {"roles": _ROLES[kind]} if kind else {"codec": "json-or-comma"}


def _answer(question: str, roles: Roles) -> dict[str, Any]:
    tools, places = _QUESTIONED.search(question), _PLACES.search(question)
    assert tools, question
    listed = json.loads(places[1]) if places else []
    return {"tools": [_annotated(tool, roles, listed) for tool in json.loads(tools[1])]}


def _annotated(tool: dict[str, Any], roles: Roles, places: list[str]) -> dict[str, Any]:
    """Annotate a tool; an argument of which a part has a role is annotated by all its parts."""
    inner = {place.split("/")[1] for owner, place in roles if owner == tool["tool"] and place.startswith("/")}
    parts = [place for place in places if place.startswith("/") and place.split("/")[1] in inner]
    names = [name for name in tool["input_schema"].get("properties", {}) if name not in inner]
    names += [part for part in parts if not any(each.startswith(f"{part}/") for each in parts)]
    args = [{"name": name, "roles": ["none"], **roles.get((tool["tool"], name), {})} for name in names]
    return {"tool": tool["tool"], "side_effects": True, "contained": False, "comment": "", "args": args}
