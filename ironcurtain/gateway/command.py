"""A tool that runs a program, without a shell.

    cli_command("git", lambda query: ["log", "--max-count=5", "--", query.path], cwd="/srv/repo")

The program is looked up when the tool is declared, and its absolute path is run. Its environment is empty but
for what is declared. It and everything it starts is ended with the call.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import anyio
from anyio.abc import ByteReceiveStream
from pydantic import BaseModel, JsonValue

from ironcurtain.system.structs import SecretStruct

ArgsBuilder: TypeAlias = Callable[[Any], Sequence[str]]
Output: TypeAlias = Literal["text", "json", "jsonl"] | Callable[[str], Any]

DEFAULT_TIMEOUT = 30.0
MAX_OUTPUT = 4 << 20
_CHUNK = 1 << 16
_LAUNCHER = Path(__file__).parents[1] / "servers" / "process_tree.py"
"""A script of the standard library alone that ends with all that it started; it is run, not imported."""
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|(?:\x1b[]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x9c|\x1b\\)"  # titles
    r"|\x1b[ -/]*[0-~]"  # character sets and the rest
    r"|\r(?=\n)|[\0-\x08\x0b-\x1f\x7f\x80-\x84\x86-\x9f]"  # other controls, and broken sequences
)


class CommandFailedError(Exception):
    """The program did not do what was asked; the message is for the log, never for the agent."""


class Command(SecretStruct):
    """A program to run; make it with `cli_command`.

    Attributes:
        program: Its absolute path.
        timeout: Seconds that it may take.
        problems: What is wrong with the declaration, each with what to do.
    """

    secret_fields = frozenset({"env"})

    program: str
    build: ArgsBuilder
    cwd: str | None
    env: Mapping[str, str]
    timeout: float
    output: Output
    most_bytes: int
    problems: tuple[tuple[str, str], ...] = ()

    def read(self, written: bytes) -> JsonValue:
        """Return what it wrote as the declaration says.

        Raises:
            CommandFailedError: If that is not of the declared form.
        """
        text = plain_text(written)
        try:
            parsed: JsonValue = self._read(text)
        except (ValueError, RecursionError) as error:
            raise CommandFailedError(
                f"its output is not of the declared form ({type(error).__name__})"
            ) from None
        return parsed

    def _read(self, text: str) -> Any:  # noqa: ANN401 - whatever a team's own reader returns
        if self.output == "text":
            return {"text": text}
        if self.output == "json":
            return json.loads(text)
        if self.output == "jsonl":
            return {"items": [json.loads(line) for line in text.split("\n") if line.strip()]}
        return self.output(text)

    async def run(self, arguments: Sequence[str]) -> bytes:
        """Run it to its end and return what it wrote; whatever ends us ends it, and what it started.

        Raises:
            CommandFailedError: If it cannot be started, ends with an error, or writes too much.
        """
        launcher = [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), self.program, *arguments]
        try:
            with anyio.CancelScope(shield=True):  # cancelled within it, it would leave what it has started
                process = await anyio.open_process(
                    launcher, stdin=-3, cwd=self.cwd, env=dict(self.env), start_new_session=True
                )
        except OSError as error:
            raise CommandFailedError(f"it cannot be started: {error.strerror}") from None
        assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 - both are pipes
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_drain, process.stderr)
                written = await _read_up_to(process.stdout, self.most_bytes)
                if written is None:
                    tasks.cancel_scope.cancel()
            if written is None:
                raise CommandFailedError(f"it wrote more than {self.most_bytes:,} bytes")
            if status := await process.wait():
                raise CommandFailedError(f"it ended with the status {status}")
            return written
        finally:
            with anyio.CancelScope(shield=True):
                if process.returncode is None:
                    process.terminate()  # the launcher ends everything below it, then itself
                    await process.wait()
                await process.aclose()


def cli_command(
    command: str,
    args_builder: ArgsBuilder,
    *,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    output: Output = "text",
    most_bytes: int = MAX_OUTPUT,
) -> Command:
    """Declare a program as the handler of a tool.

    Args:
        command: A name, looked up on PATH now, or an absolute path.
        args_builder: Returns the arguments for a validated input; put `"--"` before what a user chooses.
        cwd: The directory that it runs in, absolute.
        env: Its whole environment; nothing is inherited.
        timeout: Seconds that it may take.
        output: `text` answers `{"text": …}`, `json` the JSON value that it writes, `jsonl` `{"items": [ … ]}`
            of its lines; or a function of the text.
        most_bytes: More output than this is an error: it is never cut off.
    """
    problems = []
    program = shutil.which(command) or ""
    if not program or ("/" in command and not Path(command).is_absolute()):
        problems.append(
            (f"the command {command!r} was not found", "Name a program on PATH, or an absolute path.")
        )
    if cwd is not None and not Path(cwd).is_absolute():
        # Where a relative one leads depends on who starts the gateway, and from where.
        problems.append(
            (f"the directory {str(cwd)!r} is no absolute path", "Write Path(__file__).parent / …")
        )
    elif cwd is not None and not Path(cwd).is_dir():
        problems.append((f"the directory {str(cwd)!r} does not exist", "Name a directory that is there."))
    if not callable(args_builder):
        problems.append(
            ("args_builder is no function", "Give a function from the input to a list of strings.")
        )
    if output not in ("text", "json", "jsonl") and not callable(output):
        problems.append((f"there is no output {output!r}", "Write `text`, `json`, `jsonl` or a function."))
    if not isinstance(timeout, int | float) or not timeout > 0:
        problems.append(("its timeout is no number of seconds", "Write one above 0."))
    if not isinstance(most_bytes, int) or most_bytes < 1:
        problems.append(("most_bytes is no number of bytes", "Write one above 0."))
    if any("\0" in part or "=" in name for name, value in (env or {}).items() for part in (name, value)):
        problems.append(("its environment has a name or value that cannot be one", "Leave out NUL and `=`."))
    return Command(
        program=_place_of(program) if program else "",
        build=args_builder,
        cwd=str(cwd) if cwd is not None else None,
        env=dict(env or {}),
        timeout=timeout,
        output=output,
        most_bytes=most_bytes,
        problems=tuple(problems),
    )


def _place_of(program: str) -> str:
    """Return a program's absolute path, with its own name kept.

    A program of many names (busybox, coreutils, snap) does what its name says. Without that name it would
    take its first argument for one, and that may be a user's choice.
    """
    return str(Path(program).parent.resolve() / Path(program).name)


def arguments_for(command: Command, given: BaseModel) -> list[str]:
    """Return the arguments of a run.

    Raises:
        CommandFailedError: If what the builder returns is no list of strings without NUL.
    """
    built = command.build(given)
    if isinstance(built, str) or not isinstance(built, Sequence):
        raise CommandFailedError("args_builder returned no list")
    for argument in built:
        if not isinstance(argument, str) or "\0" in argument:
            raise CommandFailedError("args_builder returned what is no string, or one with NUL")
    return list(built)


def plain_text(written: bytes) -> str:
    """Return what a program wrote, without colours and other sequences for terminals.

    Raises:
        CommandFailedError: If it is not UTF-8.
    """
    try:
        return _ANSI.sub("", written.decode())
    except UnicodeDecodeError:
        raise CommandFailedError("its output is not UTF-8") from None


async def _read_up_to(stream: ByteReceiveStream, most: int) -> bytes | None:
    """Return all that comes; None if that is too much."""
    output = bytearray()
    async for chunk in stream:
        output += chunk
        if len(output) > most:
            return None
    return bytes(output)


async def _drain(stream: ByteReceiveStream) -> None:
    """Read what nobody is shown, so that its writer does not wait."""
    async for _ in stream:
        pass
