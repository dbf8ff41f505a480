"""Starting a server inside the sandbox: its private files, the command that does it, and their end."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mcp import StdioServerParameters

from ironcurtain.model.base import Json
from ironcurtain.sandbox.programs import Programs

_RUNNER = Path(__file__).with_name("run.mjs")
_TEMPORARY = "/tmp"  # noqa: S108 - mkdtemp's names are unguessable; sockets below it need a short path
_BWRAP = """#!/bin/sh
# bubblewrap leaves the system's settings open to root; a root user of the sandbox could change them.
open=yes
for word; do
  shift
  if [ "$word" = -- ] && [ "$open" = yes ]; then set -- "$@" --ro-bind /proc/sys /proc/sys; open=no; fi
  set -- "$@" "$word"
done
exec {bwrap} "$@"
"""


@dataclass(frozen=True)
class Contained:
    """How a contained server is started.

    Attributes:
        start: Program, arguments, environment and working directory of the start.
        report: The file that what is seen is written to.
    """

    start: StdioServerParameters
    report: Path


@contextmanager
def contained(
    start: StdioServerParameters, rules: Mapping[str, Json], programs: Programs, *, strict: bool = True
) -> Iterator[Contained]:
    """Make what a contained start needs; remove it when the server has ended.

    Args:
        start: The start without a sandbox.
        rules: What `rules_for` says.
        programs: What the survey found.
        strict: Whether nothing is started where a probe shows that the sandbox does not hold.

    Raises:
        OSError: If the private files cannot be made.
    """
    place = Path(os.path.realpath(tempfile.mkdtemp(prefix="ironcurtain-", dir=_TEMPORARY)))
    absent = _absent(rules)
    try:
        for name in ("own", "here", "tmp"):
            (place / name).mkdir(mode=0o700)
        settings = _settings(place, rules, programs)
        _private(place / "settings.json", json.dumps(settings))
        _private(place / "secret", secrets.token_hex(16))
        _private(place / "report", "")
        environment = {
            **(start.env or {}),
            "TMPDIR": str(place / "own"),
            "CLAUDE_CODE_TMPDIR": str(place / "tmp"),
        }
        mode = "strict" if strict else "lax"
        words = [str(_RUNNER), programs.library, str(place), mode, str(start.cwd or Path.cwd())]
        yield Contained(
            StdioServerParameters(
                command=programs.node,
                args=[*words, start.command, *start.args],
                env=environment,
                cwd=place / "here",
            ),
            place / "report",
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)
        _remove_empty(absent)


def _settings(place: Path, rules: Mapping[str, Json], programs: Programs) -> dict[str, Json]:
    """Return the runtime's whole configuration, with our own files closed and a temporary directory."""
    files = rules["filesystem"]
    hidden = [{"path": str(place / name), "literal": True} for name in ("settings.json", "secret", "report")]
    own = [{"path": str(place / name), "literal": True} for name in ("own", "here", "outside")]
    settings: dict[str, Json] = {
        "network": rules["network"],
        "filesystem": {
            **files,
            "denyRead": [*files["denyRead"], *hidden],
            "allowWrite": [*files["allowWrite"], {"path": str(place / "tmp"), "literal": True}],
            "denyWrite": [*files["denyWrite"], *hidden, *own],
        },
    }
    if programs.bwrap is not None:
        wrapper = place / "bwrap"
        _private(wrapper, _BWRAP.format(bwrap=shlex.quote(programs.bwrap)))
        wrapper.chmod(0o700)
        settings |= {
            "bwrapPath": str(wrapper),
            "socatPath": programs.socat,
            "ripgrep": {"command": programs.rg},
        }
    return settings


def _private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _absent(rules: Mapping[str, Json]) -> list[Path]:
    """Return the places to be held that are not there: the runtime puts something empty there for a while."""
    paths = [Path(entry["path"]) for entry in rules["filesystem"]["denyWrite"]]
    return [path for path in paths if not os.path.lexists(path)]


def _remove_empty(paths: list[Path]) -> None:
    """Remove what a runtime that was killed left behind."""
    for path in paths:
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                path.rmdir()  # fails unless it is empty
            elif path.lstat().st_size == 0:
                path.unlink()
