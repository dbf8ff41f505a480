"""Reading a server's command as a package runner would: `npx -y PACKAGE`, `uvx PACKAGE` and their like.

What may stand before a runner, as `env X=1`, is read by `launchers.py`.

Only names in the package registry of the user's own configuration are fetched. What else runners take (URLs,
git, paths, another registry) is refused: a client's file can come from anybody.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ironcurtain.errors import ServerConfigError
from ironcurtain.servers.fetched.launchers import launch_of, shell_line
from ironcurtain.servers.fetched.lock import Manager, Wanted
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted

_INSTALL = "Install the server yourself, and write its own program as the command."
_NPM = re.compile(r"(?:@[a-z0-9][a-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*(?:@[A-Za-z0-9^~<>=.*|+ _-]+)?")
_PYPI = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._, -]+\])?"
    r"(?:@[A-Za-z0-9.!+_-]+|\s*[<>=!~]=?=?\s*[A-Za-z0-9.*!+_-]+(?:\s*,\s*[<>=!~]=?=?\s*[A-Za-z0-9.*!+_-]+)*)?"
)
_PYTHON = re.compile(r"(?:python|cpython-?)?(\d+\.\d+)(?:\.\d+)?")


class PackageRequest(Struct):
    """A server to be fetched.

    Attributes:
        wanted: What is fetched.
        arguments: What the server's own program is given.
        before: The launchers before it, which stay: `env`, `timeout`.
    """

    wanted: Wanted
    arguments: tuple[str, ...]
    before: tuple[str, ...] = ()

    def command(self, program: str, words: Sequence[str] = ()) -> tuple[str, tuple[str, ...]]:
        """Return the command and its arguments that start what was fetched, by its program and its words."""
        whole = (*self.before, program, *words, *self.arguments)
        return whole[0], whole[1:]


class _Runner(Struct):
    """How a package runner is called.

    Attributes:
        words: Its name and subcommand.
        packages: Options that name packages; the first package is then no program.
        more: Options that name packages beside the server's.
        flags: Options without a value that change nothing here.
        python: Options that name the version of Python.
        own: Whether it runs programs of the user's, with what these options fetch, and else fetches nothing.
    """

    words: tuple[str, ...]
    manager: Manager
    packages: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    own: bool = False

    def fetches(self, words: Sequence[str]) -> bool:
        """Tell whether it fetches something for these words."""
        return not self.own or any(word.partition("=")[0] in self.packages for word in words)


_QUIET = ("-q", "--quiet", "-s", "--silent", "--verbose", "-v")
_NPX = ("-y", "--yes", "--prefer-online", "--prefer-offline", "--offline", "--no-audit", *_QUIET)
_UVX = (
    "--isolated",
    "--no-cache",
    "-n",
    "--offline",
    "--refresh",
    "-U",
    "--no-progress",
    *_QUIET,
)
_PIPX = ("--no-cache", "--quiet", "-q", "--verbose", "--no-path-check")
_RUNNERS = (
    _Runner(("npx",), "npm", ("-p", "--package"), flags=_NPX),
    _Runner(("npm", "exec"), "npm", ("-p", "--package"), flags=_NPX),
    _Runner(("npm", "x"), "npm", ("-p", "--package"), flags=_NPX),
    _Runner(("pnpx",), "npm", ("--package",), flags=_QUIET),
    _Runner(("pnpm", "dlx"), "npm", ("--package",), flags=_QUIET),
    _Runner(("yarn", "dlx"), "npm", ("-p", "--package"), flags=_QUIET),
    _Runner(("bunx",), "npm", ("-p", "--package"), flags=("-y", *_QUIET)),
    _Runner(("bun", "x"), "npm", ("-p", "--package"), flags=("-y", *_QUIET)),
    _Runner(("uvx",), "pypi", ("--from",), ("--with", "-w"), _UVX, ("--python", "-p")),
    _Runner(("uv", "tool", "run"), "pypi", ("--from",), ("--with", "-w"), _UVX, ("--python", "-p")),
    _Runner(
        ("uv", "run"),
        "pypi",
        ("--with", "-w"),
        flags=(*_UVX, "--no-project", "--no-sync"),
        python=("--python", "-p"),
        own=True,
    ),
    _Runner(("pipx", "run"), "pypi", ("--spec",), ("--with",), _PIPX, ("--python",)),
)
_FETCHES = re.compile(r"\b(?:npx|pnpx|bunx|uvx|dlx|npm (?:exec|x)|bun x|uv tool run|pipx run)\b")
_OF_ITS_OWN = re.compile(r"python[0-9.]*|.*\.py|.*/.*|-m")


def request_of(command: str | None, arguments: Sequence[str]) -> PackageRequest | None:
    """Return what a command fetches, None where it fetches nothing.

    Raises:
        ServerConfigError: If it fetches something that cannot be pinned, or says it in words unknown here.
    """
    launch = launch_of(command or "", arguments)
    words = launch.words
    for runner in _RUNNERS:
        if words[: len(runner.words)] == runner.words and runner.fetches(words):
            return replace(_read(runner, words[len(runner.words) :]), before=launch.before)
    if _FETCHES.search(shell_line(words)):
        what = "its line does more than start one program, and fetches something"
        raise ServerConfigError(f"{quoted(words[0])}: {what}", hint=_INSTALL)
    return None


def _read(runner: _Runner, words: Sequence[str]) -> PackageRequest:
    packages: list[str] = []
    more: list[str] = []
    python: str | None = None
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        option, equals, value = word.partition("=")
        known = (*runner.packages, *runner.more, *runner.python)
        if option in runner.flags and not equals:
            continue
        if option not in known:
            raise _refused(runner, f"takes {quoted(word)} here, which is not understood")
        if not equals:
            value = rest.pop(0) if rest else ""
        if option in runner.python:
            python = _version(runner, value)
        else:
            (packages if option in runner.packages else more).append(value)
    if not rest:
        raise _refused(runner, "names no package")
    first, *last = rest
    last = last[1:] if last[:1] == ["--"] and runner.words[0] == "npm" else last
    program = first if packages else None
    if runner.own and _OF_ITS_OWN.fullmatch(first):
        raise _refused(runner, f"runs {quoted(first)} of your own with packages that it fetches")
    named = [*(packages or [first]), *more]
    wanted = Wanted(
        manager=runner.manager,
        packages=tuple(_checked(runner, each) for each in named),
        program=program,
        python=python,
    )
    return PackageRequest(wanted, tuple(last))


def _checked(runner: _Runner, package: str) -> str:
    match = (_NPM if runner.manager == "npm" else _PYPI).fullmatch(package)
    if match is None or package.endswith((".tgz", ".whl", ".gz")):
        raise _refused(runner, f"fetches {quoted(package)}, which is no package of a registry")
    return package


def _version(runner: _Runner, text: str) -> str:
    match = _PYTHON.fullmatch(text)
    if match is None:
        raise _refused(runner, f"names the Python {quoted(text)}, where a version is understood")
    return match.group(1)


def _refused(runner: _Runner, what: str) -> ServerConfigError:
    return ServerConfigError(f"{quoted(' '.join(runner.words))} {what}", hint=_INSTALL)
