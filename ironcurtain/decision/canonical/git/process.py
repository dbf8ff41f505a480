"""Running git itself, so that nothing a repository configures can run, hang or flood.

Only built-in, read-only commands are called (an alias cannot shadow a built-in), without a shell, in an
environment that holds nothing but what selects configuration, for a bounded time and output.
"""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.structs import Struct

_SECONDS = 5.0
_OUTPUT_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 16

# Given on the command line, so they win over every file. `config --list` shows them as its last entries.
OVERRIDES = (
    ("core.hookspath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.sshcommand", "false"),
    ("protocol.ext.allow", "never"),
)
_OVERRIDDEN = tuple(part for key, value in OVERRIDES for part in ("-c", f"{key}={value}"))
# What tells git where its configuration is. PATH is not among them: git was found before, and the commands
# that we call start no other program.
_SELECTS_CONFIGURATION = re.compile(
    r"HOME|XDG_CONFIG_HOME|GIT_CEILING_DIRECTORIES|GIT_DISCOVERY_ACROSS_FILESYSTEM"
    r"|GIT_CONFIG_(?:GLOBAL|SYSTEM|NOSYSTEM|PARAMETERS|COUNT|KEY_\d+|VALUE_\d+)"
)
# What puts the repository elsewhere. Passed on only to the question where the repository is.
PLACING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
# What makes git contact another place, or lets another program do it.
REDIRECTING = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_EXEC_PATH", "GIT_ALLOW_PROTOCOL")
_ALWAYS = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ASKPASS": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TRACE2": "0",
    "GIT_TRACE2_EVENT": "0",
    "GIT_TRACE2_PERF": "0",
}


class GitFailedError(Exception):
    """Git gave no answer.

    Attributes:
        reason: Why, in plain words without text from outside.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Git(Struct):
    """The git of one server, found once: whatever appears on a PATH later is not run.

    Attributes:
        program: Where it is; None if there is none that may be run.
        missing: Why there is none.
        environ: The environment that the server's own git will have.
        helpers: Where git finds programs of its own that it starts by name, which it does in rare cases.
    """

    program: str | None
    missing: str
    environ: Mapping[str, str]
    helpers: str

    @classmethod
    def of(cls, environ: Mapping[str, str], reachable: tuple[Path, ...] = ()) -> Git:
        """Find git on an environment's PATH, outside what tools and servers can write."""
        search = ProgramSearch(environ.get("PATH", os.defpath), reachable)
        program = search.find("git")
        missing = f"git {search.passed_over('git') or 'was not found'} on the server's PATH"
        return cls(str(program) if program else None, "" if program else missing, environ, search.safe_path())

    @cached_property
    def configured(self) -> Mapping[str, str]:
        """The environment that git runs in, but for what puts the repository elsewhere."""
        chosen = {n: value for n, value in self.environ.items() if _SELECTS_CONFIGURATION.fullmatch(n)}
        return {**chosen, "PATH": self.helpers, **_ALWAYS}

    @cached_property
    def placed(self) -> Mapping[str, str]:
        """The same with what puts the repository elsewhere."""
        return {**self.configured, **{n: self.environ[n] for n in PLACING if n in self.environ}}


class GitAnswer(Struct):
    """What one git process said.

    Attributes:
        status: Its exit status.
        output: Its standard output, as `to_text` makes it.
        errors: Its standard error, likewise; untrusted text.
    """

    status: int
    output: str
    errors: str


def run_git(
    arguments: tuple[str, ...],
    *,
    directory: str,
    git: Git,
    placed: bool = False,
    meanwhile: Callable[[], None] | None = None,
) -> GitAnswer:
    """Run one built-in, read-only git command.

    Args:
        arguments: The command and its arguments.
        directory: Where it runs.
        git: The server's git.
        placed: Whether variables that put the repository elsewhere (`GIT_DIR`, …) are to be respected.
        meanwhile: Called while git works; where it raises, git is killed.

    Raises:
        GitFailedError: If git is missing, takes too long, or says too much.
    """
    if git.program is None:
        raise GitFailedError(git.missing)
    command = (git.program, "--no-pager", *_OVERRIDDEN, *arguments)
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell; the program and the options are ours
            command,
            cwd=directory,
            env=git.placed if placed else git.configured,
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise GitFailedError("git could not be started there") from error
    with process:
        try:
            if meanwhile is not None:
                meanwhile()
            output, errors = _read(process)
            _await_end(process)
            status = process.wait(timeout=_SECONDS)
        except BaseException as error:
            # Not yet waited for, so the number still means this process and its group.
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitFailedError(f"git gave no answer within {_SECONDS:g} seconds") from error
            raise
    return GitAnswer(status, to_text(output), to_text(errors))


def to_text(data: bytes) -> str:
    """Return bytes of git's as text; bytes that are no UTF-8 become lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Return the bytes that `to_text` made the text of."""
    return text.encode("utf-8", "surrogateescape")


def _read(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """Return all output and errors, within the bounds."""
    read: dict[str, bytearray] = {"output": bytearray(), "errors": bytearray()}
    for name, chunk in _chunks(process):
        read[name] += chunk
        if len(read[name]) > _OUTPUT_BYTES:
            raise GitFailedError(f"git wrote more than {_OUTPUT_BYTES} bytes")
    return bytes(read["output"]), bytes(read["errors"])


def _await_end(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process can be reaped, where the platform tells: `wait` with a bound sleeps in steps."""
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not on macOS, on an old kernel, or where a sandbox refuses it
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(_SECONDS * 1000)
    finally:
        os.close(handle)


def _chunks(process: subprocess.Popen[bytes]) -> Iterator[tuple[str, bytes]]:
    deadline = time.monotonic() + _SECONDS
    streams = (("output", process.stdout), ("errors", process.stderr))
    names = {stream.fileno(): name for name, stream in streams if stream is not None}
    poll = select.poll()
    for handle in names:
        poll.register(handle, select.POLLIN)
    while names:
        left = deadline - time.monotonic()
        if left <= 0:
            raise subprocess.TimeoutExpired(process.args, _SECONDS)
        for handle, _ in poll.poll(left * 1000):
            chunk = os.read(handle, _CHUNK_BYTES)
            if chunk:
                yield names[handle], chunk
            else:
                poll.unregister(handle)
                del names[handle]
