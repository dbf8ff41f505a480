"""Why a server ended at its start, if its sandbox is the likely cause, and what mends that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ironcurtain.enforcement.sandbox.limits import Mounts
from ironcurtain.enforcement.sandbox.report import command_for, offer, offer_for
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_FAILED = re.compile(
    r"E(?:ACCES|NOENT|PERM|ROFS)|[Nn]o such file|[Nn]ot (?:exist|found|accessible)|[Dd]enied|[Rr]ead-only"
)
_READ_ONLY = re.compile(r"EROFS|[Rr]ead-only")
_PATH = re.compile(r"(?:/[^\s/'\"`:,;|()\[\]{}<>]+)+")
_HOST = re.compile(r"(?:EAI_AGAIN|ENOTFOUND|[Ff]ailed to resolve) '?([A-Za-z0-9.-]+\.[A-Za-z]{2,})")
_SOCKET = re.compile(r"(?:listen|bind|connect) EPERM|AF_UNIX|[Uu]nix (?:domain )?socket")
_SOCKETS = (
    "start what it runs without one (tsx: `node --import tsx FILE` instead of `tsx FILE`), or, if you trust "
    'it with all that you may do, write "sandbox": false into its entry'
)


class StartFailure(Struct):
    """What the sandbox of a server kept from it before it ended.

    Attributes:
        what: What, as a clause without its full stop.
        fix: What mends it, likewise.
    """

    what: str
    fix: str

    @property
    def sentence(self) -> str:
        """Both, without a full stop."""
        return f"{self.what}; to mend it, {self.fix}"


class EndedStart(Struct):
    """A server that has ended at its start.

    Attributes:
        name: The server.
        file: What it is configured by.
        home: The person's home.
        mounts: What its sandbox let it reach.
        named: The directories that its entry names.
        words: What it last wrote to its standard error.
        violations: What it was seen to be refused.
        by_rules: Whether rules say what it reaches.
    """

    name: str
    file: Path
    home: str
    mounts: Mounts
    named: Sequence[Path]
    words: Sequence[str]
    violations: Sequence[str]
    by_rules: bool

    def failure(self) -> StartFailure | None:
        """Return what its sandbox probably had to do with its end, None where nothing shows that."""
        text = " ".join(self.words)
        missed = [place for place in self.named if _FAILED.search(text) or str(place) in text]
        return self._unix_socket(text) or self._hidden(missed) or self._refused() or self._mentioned(text)

    def _unix_socket(self, text: str) -> StartFailure | None:
        if _SOCKET.search(text) is None:
            return None
        return StartFailure("its sandbox refuses Unix sockets, also in its own TMPDIR", _SOCKETS)

    def _hidden(self, places: Iterable[Path]) -> StartFailure | None:
        hidden = [str(place) for place in places if not self.mounts.can_read(str(place))]
        if not hidden:
            return None
        shown, first = ", ".join(map(visible, hidden)), visible(hidden[0])
        if not self.by_rules:
            return StartFailure(
                f"its sandbox hides {shown}, which it names",
                offer(self.name, "read", hidden[0], self.file, self.home),
            )
        return StartFailure(
            f"its sandbox shows nothing of {shown}, which it names, because no rule lets it read there",
            f'write "The agent may read files in {first}." (or what else it may do there) into the '
            f"constitution and compile, or start the proxy with --sandbox {first}",
        )

    def _refused(self) -> StartFailure | None:
        mended = ((seen, offer_for(self.name, seen, self.file, self.home)) for seen in self.violations)
        seen, mends = next(((seen, mends) for seen, mends in mended if mends), ("", ""))
        return StartFailure(f"its sandbox refused: {visible(seen)}", mends) if seen else None

    def _mentioned(self, text: str) -> StartFailure | None:
        """Look for what it names in its last words: a host, or a path that is there and not for it."""
        if (host := _HOST.search(text)) and not self.mounts.can_contact(host[1], None):
            mends = command_for(self.name, "--allow-domain", host[1], self.file)
            return StartFailure(f"its sandbox does not let it contact {visible(host[1])}", mends)
        if _FAILED.search(text) is None:
            return None
        there = [path for path in _PATH.findall(text) if os.path.exists(path)]  # noqa: PTH110 - it is any text
        return self._hidden(map(Path, there)) or self._read_only(text, there)

    def _read_only(self, text: str, places: Iterable[str]) -> StartFailure | None:
        held = [place for place in places if not self.mounts.can_write(place)]
        if not held or _READ_ONLY.search(text) is None:
            return None
        mends = offer(self.name, "write", held[0], self.file, self.home)
        return StartFailure(f"its sandbox lets it write nothing in {visible(held[0])}", mends)
