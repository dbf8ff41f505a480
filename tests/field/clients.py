"""A client's row: the tools that it offers to a model, and two calls, before and after it was wrapped.

Each client gets the same two servers. The policy is made once.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from field.model import WAITING, Model, Turn, find
from field.person import Person
from field.place import HOMES, CommandError, Home, install
from field.rows import ClientRow, filled, load

CALLS = {
    "everything": ("echo", {"message": "hello"}),
    "time": (
        "convert_time",
        {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
    ),
}
LONGEST = 300
"""Seconds that one use of a client may take, on a busy machine."""

_PRELUDE = """
import asyncio, json, sys, time
def show(tools): print(json.dumps({"tools": tools, "at": time.monotonic()}), flush=True)
def tell(result): print(json.dumps({"result": result}), flush=True)
"""
_FINALE = """
servers = json.load(open(sys.argv[1]))["mcpServers"]
asyncio.run(use(servers, json.loads(sys.argv[2])))
"""


@dataclass
class Use:
    """What one use of a client gave.

    Attributes:
        seconds: From its start to the tools.
        tools: The names under which it offers them, or None if it came to none.
        results: What its calls gave, as it shows them to the model.
        message: What it printed last, if a call has no result.
    """

    seconds: float = 0
    tools: list[str] | None = None
    results: list[str] = field(default_factory=list)
    message: str = ""


@dataclass
class ClientResult:
    """A row's result.

    Attributes:
        listed: How many tools of each server are offered, directly and wrapped.
        by_hand: Why `wrap` did not do it, where a person put the printed entry into the configuration.
        times: Seconds to the tools, directly and wrapped, of interleaved uses.
    """

    direct: Use
    wrapped: Use = field(default_factory=Use)
    listed: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    by_hand: str = ""
    times: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    @property
    def equal(self) -> bool:
        """Tell whether all calls gave the same both times."""
        return len(self.direct.results) == len(CALLS) and self.direct.results == self.wrapped.results


class Field:
    """The servers that every client gets, their policy, and the model of those that are agents."""

    def __init__(self) -> None:
        rows = load().servers
        self.servers = {name: {"command": str(install(name, rows[name])), "args": []} for name in CALLS}
        HOMES.mkdir(parents=True, exist_ok=True)
        self._scratch = tempfile.TemporaryDirectory(dir=HOMES)
        person = Person(Home(Path(self._scratch.name) / "policy"))
        person.make_policy(self.servers)
        self.project = person.home.project
        annotated = json.loads((self.project / "annotations.json").read_text())["servers"]
        self.tools = {name: [tool["tool"] for tool in annotated[name]["tools"]] for name in CALLS}
        self.model = Model(list(CALLS.values()))

    def run(self, name: str, row: ClientRow) -> ClientResult:
        """Use a client both ways."""
        try:
            program = install(name, row)
        except CommandError as error:
            return ClientResult(Use(message=str(error)))
        shutil.rmtree(HOMES / name, ignore_errors=True)
        direct = _Client(row, program, Home(HOMES / name / "d"), self.servers, self.model)
        direct.configure()
        result = ClientResult(direct.use())
        if result.direct.tools is None:
            return result
        person = Person(Home(HOMES / name / "w"))
        shutil.copytree(self.project, person.home.project, dirs_exist_ok=True)
        try:
            result.by_hand, wrapped = self._wrap(row, program, person)
            result.wrapped = wrapped.use()
        except CommandError as error:
            result.wrapped.message = str(error)
        result.listed = (self._listed(result.direct.tools), self._listed(result.wrapped.tools or []))
        if result.direct.seconds and result.wrapped.seconds:
            result.times = ([result.direct.seconds], [result.wrapped.seconds])
        (HOMES / name / "typed.txt").write_text("\n".join(direct.home.typed + person.home.typed))
        return result

    def _wrap(self, row: ClientRow, program: Path, person: Person) -> tuple[str, _Client]:
        """Wrap a client; return why that was done by hand, if it was."""
        servers = str(person.home.project / "mcp-servers.json")
        command = ("ironcurtain", "wrap", "--print", "--servers", servers, *person.options())
        wrapped = _Client(row, program, person.home, json.loads(person.home.type(*command)), self.model)
        replace(wrapped, servers=self.servers).configure()
        client = (
            (row.known, "--scope", "user") if row.known else (str(person.home.path / next(iter(row.files))),)
        )
        try:
            person.wrap(*client)
        except CommandError as error:
            wrapped.configure()
            return str(error), wrapped
        return "", wrapped

    def _listed(self, offered: list[str]) -> list[int]:
        return [sum(find(offered, tool) is not None for tool in tools) for tools in self.tools.values()]


@dataclass
class _Client:
    row: ClientRow
    program: Path
    home: Home
    servers: Mapping[str, Any]
    model: Model

    def configure(self) -> None:
        """Write the client's files: its servers as JSON, TOML, or in its own shape."""
        tables = [
            f"[mcp_servers.{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in entry.items())
            for name, entry in self.servers.items()
        ]
        lists = [
            f"  - name: {name}\n" + "".join(f"    {key}: {json.dumps(entry[key])}\n" for key in entry)
            for name, entry in self.servers.items()
        ]
        own = {
            name: {"type": "local", "command": [entry["command"], *entry["args"]]}
            | {"environment": entry.get("env", {})}
            for name, entry in self.servers.items()
        }
        shapes = {
            "servers": json.dumps(self.servers, indent=2),
            "servers.toml": "\n".join(tables),
            "servers.opencode": json.dumps(own, indent=2),
            "servers.yaml": "\n".join(lists),
        }
        for name, text in self.row.files.items():
            path = self.home.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled(text, {**shapes, **self._places()}))

    def _places(self) -> dict[str, str]:
        return {"home": str(self.home.path), "model": self.model.address}

    def use(self) -> Use:
        """Use the client once."""
        if self.row.call:
            use, message = self._type()
        else:
            self.model.turns.clear()
            command = [str(self.program), *self.row.argv]
            if self.row.script:
                python, code = str(self.program.parent / "python"), _PRELUDE + self.row.script + _FINALE
                config = str(self.home.path / next(iter(self.row.files)))
                command = [python, "-c", code, config, json.dumps(list(CALLS.values()))]
            begun = time.monotonic()
            printed, message = self._run(command)
            use = _played(self.model.turns, begun) if self.model.turns else _shown(printed, begun)
        texts = [text.replace(str(self.home.path), "~") for text in use.results]
        use.results = [re.sub(self.row.varies, "", text) if self.row.varies else text for text in texts]
        use.message = "" if len(use.results) == len(CALLS) else message
        return use

    def _type(self) -> tuple[Use, str]:
        """Use a tool for people: list the tools of each server, and call."""
        use, messages = Use(tools=[] if self.row.list_ else [tool for tool, _ in CALLS.values()]), list[str]()
        for server in self.servers if self.row.list_ else ():
            begun = time.monotonic()
            printed, message = self._run([str(self.program), *self.row.list_], server=server)
            use.seconds += time.monotonic() - begun
            use.tools = [*(use.tools or []), *re.findall(r'"name": ?"([\w-]+)"', printed)]
            messages.append(message)
        for server, (tool, arguments) in CALLS.items():
            at, name = (server, tool) if server in self.servers else ("ironcurtain", f"{server}__{tool}")
            pairs = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
            words = [each for word in self.row.call for each in (pairs if word == "{pairs}" else [word])]
            places = {"server": at, "tool": name, "arguments": json.dumps(arguments)}
            printed, message = self._run([str(self.program), *words], **places)
            use.results.append(printed.replace(name, tool))
            messages.append(message)
        return use, " ".join(messages)

    def _run(self, words: Sequence[str], **more: str) -> tuple[str, str]:
        """Run a command in the workspace; return what it printed, and the end of all that it printed."""
        places = {**self._places(), **more}
        command = words if self.row.script else [filled(word, places) for word in words]
        try:
            ended = subprocess.run(
                command,
                cwd=self.home.path / "work",
                env=self.home.environment(**filled(dict(self.row.env), places)),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LONGEST,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "", f"no end after {LONGEST} s"
        self.home.typed.append(f"$ {command}\n{ended.stdout}\n{ended.stderr}\n[exit {ended.returncode}]")
        return ended.stdout, " ".join((ended.stdout + ended.stderr).split())[-600:]


def _toml(value: Any) -> str:
    pairs = value.items() if isinstance(value, dict) else None
    return (
        json.dumps(value) if pairs is None else f"{{{', '.join(f'{k} = {json.dumps(v)}' for k, v in pairs)}}}"
    )


def _shown(printed: str, begun: float) -> Use:
    use = Use()
    for line in printed.splitlines():
        document = json.loads(line) if line.startswith('{"') else {}
        if "tools" in document:
            use.tools, use.seconds = document["tools"], document["at"] - begun
        if "result" in document:
            use.results.append(document["result"])
    return use


def _played(turns: list[Turn], begun: float) -> Use:
    """Return what the model saw: the tools of the servers, and the results of the script's calls."""

    def offered(turn: Turn) -> int:
        return sum(find(turn.offered, tool) is not None for tool, _ in CALLS.values())

    first = max(turns, key=offered)
    last = max(turns, key=lambda turn: len(turn.results))
    script = [place for place, name in enumerate(last.called) if name not in WAITING]
    results = [last.results[place] for place in script if place < len(last.results)]
    return Use(first.at - begun, first.offered, results)
