"""An installation in which all is well, and what is planted in it for `ironcurtain doctor` to find."""

from __future__ import annotations

import json
import shutil
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.signing.keys import new_key
from ironcurtain.bundle.signing.signature import sign

SERVER = Path(__file__).parents[2] / "fixtures" / "drifting_server.py"


@dataclass(frozen=True)
class Sign:
    """What doctor has to say: the part, and words of what it finds and of the fix."""

    name: str
    what: str
    fix: str
    code: str = ""
    status: str = "fail"


@dataclass
class House:
    """An installation to be spoilt; what `stack` holds ends with the test."""

    project: Path
    patch: pytest.MonkeyPatch
    stack: ExitStack
    options: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.project / "home"

    @property
    def own(self) -> Path:
        return self.home / ".ironcurtain"

    @property
    def bundle(self) -> Path:
        return self.project / "generated" / "bundle"

    @property
    def file(self) -> Path:
        return self.project / "mcp-servers.json"

    def server(self, name: str = "notes", words: str = "", **more: object) -> None:
        """Let a server be one that is started, and that has been told words."""
        told = self.project / f"{name}.words"
        told.write_text(words)
        servers = json.loads(self.file.read_text())["mcpServers"]
        servers[name] = {"command": sys.executable, "args": [str(SERVER), str(told)], **more}
        self.file.write_text(json.dumps({"mcpServers": servers}))

    def settings(self, **more: str) -> None:
        told = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
        (self.project / "ironcurtain.toml").write_text(f"serial = 3\n{told}")

    def program(self, name: str, text: str) -> Path:
        path = self.project / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def path_without(self, *missing: str) -> None:
        """Set a PATH on which some programs are not."""
        place = self.project / "programs"
        place.mkdir()
        for name in {"opa", "node", "git", "sh", "bash", "bwrap", "socat", "rg", "true"} - {*missing}:
            if found := shutil.which(name):
                (place / name).symlink_to(found)
        self.patch.setenv("PATH", str(place))

    def signed(self, *, by: str) -> Path:
        """Sign the bundle with a key that is ours (`own`) or a stranger's, and demand ours; return it."""
        own = new_key(self.home / "own.pem", "ES256")
        key = own if by == "own" else new_key(self.home / f"{by}.pem", "ES256")
        archive = self.project / "signed.tar.gz"
        archive.write_bytes(sign(Bundle.read(self.bundle), key).archive())
        (self.home / "public.pem").write_text(own.public.pem)
        self.options += ["--verify-key", str(self.home / "public.pem")]
        return archive

    def deaf_port(self) -> int:
        """Take a port until the test ends: nobody listens on it, and nobody else can."""
        taken = self.stack.enter_context(socket.socket())
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@dataclass(frozen=True)
class Plant:
    """One failure.

    Attributes:
        run: The run of doctor that looks at it; what does not disturb each other shares one.
        codes: The codes that doctor names for it.
        spoil: Plants it, and says what doctor has to say.
    """

    run: str
    codes: frozenset[str]
    spoil: Callable[[House], list[Sign]]


class Plants(list[Plant]):
    """The failures of one subject."""

    def take(
        self, run: str, *codes: str
    ) -> Callable[[Callable[[House], list[Sign]]], Callable[[House], list[Sign]]]:
        """Take a failure for a run, with the codes that doctor names for it."""

        def add(spoil: Callable[[House], list[Sign]]) -> Callable[[House], list[Sign]]:
            self.append(Plant(run, frozenset(codes), spoil))
            return spoil

        return add
