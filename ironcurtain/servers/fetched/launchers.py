"""Reading a command that starts another one: `env X=1 npx …`, `timeout 60 uvx …`, `bash -lc "exec npx …"`.

What starts a server behind such a command is found, so that what it fetches can be pinned. A launcher that
the sandbox would not let do its work, such as one that fills in secrets, is refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path, PureWindowsPath

from ironcurtain.errors import ServerConfigError
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted


class Launch(Struct):
    """What a command starts at last.

    Attributes:
        before: The launchers that stay before the program, since they work in a sandbox.
        words: The program, as its bare name, and its arguments.
    """

    before: tuple[str, ...]
    words: tuple[str, ...]


_SECRETS = frozenset({("op", "run"), ("doppler", "run"), ("infisical", "run"), ("aws-vault", "exec")})
_VERSIONS = frozenset({("mise", "exec"), ("mise", "x"), ("fnm", "exec"), ("asdf", "exec"), ("volta", "run")})
_SHELLS = frozenset({"bash", "dash", "sh", "zsh"})
_SHELL_OPTIONS = frozenset({"-l", "-i", "-e", "--login", "--noprofile", "--norc"})
_SHELL_LINE = re.compile(r"-[eil]*c")
_MORE_THAN_WORDS = re.compile(r"[;&|<>()$`*?\[\]{}~#!\n]")
_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_ENV_VALUES = ("-u", "--unset", "-C", "--chdir")
_ENV_SPLITS = ("-S", "--split-string")
_TIMEOUT_VALUES = ("-k", "--kill-after", "-s", "--signal")
_OF_WINDOWS = (".cmd", ".exe", ".ps1")
_DEEPEST = 8

_Step = tuple[list[str], list[str] | None]
"""What stays of a launcher, and what it starts; None where it is none."""


def launch_of(command: str, arguments: Sequence[str]) -> Launch:
    """Return what a command starts, whatever stands before it.

    Raises:
        ServerConfigError: If a launcher cannot do its work in a sandbox.
    """
    words = [command, *arguments]
    before: list[str] = []
    for _ in range(_DEEPEST):
        if len(words) > 1 and bare_name(words[0]) == "cmd" and words[1].lower() == "/c":
            words = words[2:]
        if words and " " in words[0] and not (_is_of_windows(words[0]) or Path(words[0]).exists()):
            words = [*_split(words[0]), *words[1:]]  # editors take a whole line for a command
        if not words:
            break
        _check_works(words)
        kept, rest = _STEPS.get(bare_name(words[0]), _no_launcher)(words)
        if rest is None:
            return Launch(tuple(before), (bare_name(words[0]), *words[1:]))
        before, words = [*before, *kept], rest
    return Launch(tuple(before), tuple(words))


def _no_launcher(_words: list[str]) -> _Step:
    return [], None


def bare_name(program: str) -> str:
    """Return a program's name without its directory and what Windows puts behind it."""
    name = PureWindowsPath(program).name
    stem, _, _ = name.rpartition(".")
    return stem if stem and _is_of_windows(name) else name


def _is_of_windows(program: str) -> bool:
    return program.lower().endswith(_OF_WINDOWS)


def _check_works(words: Sequence[str]) -> None:
    """See that a launcher needs nothing that its sandbox does not have.

    Raises:
        ServerConfigError: If it does.
    """
    called = (bare_name(words[0]), *words[1:2])
    if called in _SECRETS:
        raise ServerConfigError(
            f"{quoted(' '.join(called))} reads secrets with a sign-in that its sandbox does not have",
            hint=f"Start the client by {quoted(' '.join(called))}, and write ${{NAME}} for each secret into "
            "the server's env.",
        )
    if called in _VERSIONS and (called[0] != "mise" or words[2:3] != ["--"]):
        raise ServerConfigError(
            f"{quoted(' '.join(called))} starts a version of its own choice, which its sandbox does not have",
            hint="Write the program that it would start, by its absolute path, as the command.",
        )


def _timeout(words: list[str]) -> _Step:
    at = _after_options(words, _TIMEOUT_VALUES) + 1  # the duration
    return words[:at], words[at:] or None


def _dotenv(words: list[str]) -> _Step:
    at = words.index("--") + 1 if "--" in words else len(words)
    return words[:at], words[at:] or None


def _mise(words: list[str]) -> _Step:
    return [], words[3:] or None if words[1:2] in (["exec"], ["x"]) else None


def _corepack(words: list[str]) -> _Step:
    return [], [words[1].partition("@")[0], *words[2:]] if len(words) > 1 else None


def _env(words: list[str]) -> _Step:
    """Read `env`, which takes assignments, and its command as one text where it is told to split it."""
    at = _after_options(words, _ENV_VALUES)
    before, rest = words[:at], words[at:]
    option, equals, line = rest[0].partition("=") if rest else ("", "", "")
    if option in _ENV_SPLITS:
        line, rest = (line, rest[1:]) if equals else (" ".join(rest[1:2]), rest[2:])
        rest = [*_split(line), *rest]
    assigned = list(takewhile(_ASSIGNED.match, rest))
    return [*before, *assigned], rest[len(assigned) :] or None


def _after_options(words: Sequence[str], with_value: Sequence[str]) -> int:
    """Return where the options of a launcher end that are not the splitting of a text."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at].partition("=")[0] in _ENV_SPLITS:
            return at
        at += 2 if words[at] in with_value else 1
        if words[at - 1] == "--":
            return at
    return at


def shell_line(words: Sequence[str]) -> str:
    """Return the line that a shell is given to run; empty where it is given none, or is no shell."""
    at = 1
    while at < len(words) and words[at] in _SHELL_OPTIONS:
        at += 1
    is_given = bare_name(words[0]) in _SHELLS and at + 1 < len(words) and _SHELL_LINE.fullmatch(words[at])
    return words[at + 1] if is_given else ""


def _shell(words: list[str]) -> _Step:
    """Read a shell whose line starts one program with plain words."""
    line = shell_line(words).strip()
    inner = [] if not line or _MORE_THAN_WORDS.search(line) else _split(line)
    assigned = list(takewhile(_ASSIGNED.match, inner))
    rest = inner[len(assigned) :]
    rest = rest[1:] if rest[:1] == ["exec"] else rest
    return [], (["env", *assigned, *rest] if assigned else rest) or None


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line) or [line]
    except ValueError:
        return [line]


_STEPS: dict[str, Callable[[list[str]], _Step]] = {
    "env": _env,
    "timeout": _timeout,
    "dotenv": _dotenv,
    "dotenvx": _dotenv,
    "mise": _mise,
    "corepack": _corepack,
    **dict.fromkeys(_SHELLS, _shell),
}
