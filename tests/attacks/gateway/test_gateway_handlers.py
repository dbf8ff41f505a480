"""A tool of one's own never ends, floods, leaves programs behind, or fails with personal data in its words.

Held by: handlers, and what makes a command's arguments and reads its output, run apart from the server and
are ended with their calls; programs run without a shell, under the name that was declared; only the class of
a failure is told and recorded; what is read of a declaration is fixed when it is made.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import anyio
import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict
from support.deployments.proxied import is_alive

from ironcurtain.gateway import Gateway, Tool, cli_command, define_tool
from ironcurtain.gateway.calling import ToolFailedError, call_tool
from ironcurtain.gateway.command import Command
from ironcurtain.gateway.workers import Workers

SECRET = "ada@example.com"


class Input(BaseModel):
    value: str = SECRET


class Output(BaseModel):
    model_config = ConfigDict(extra="allow")
    value: str = ""


class Text(BaseModel):
    text: str


class Seen(BaseModel):
    text: list[str]


class Lines(BaseModel):
    items: list[Output]


class Strict(BaseModel):
    value: int


def tool_of(handler: Callable[..., Any] | Command, output: type[BaseModel] = Output, **more: Any) -> Tool:
    tool = define_tool(
        name="tool",
        description="A tool.",
        classification="read",
        permissions=["public"],
        output=output,
        handler=handler,
        **{
            "input": Input,
            "timeout": 60.0,
            "output_policy": {".value": "allow", ".text": "allow"},
            **more,
        },
    )
    Gateway("test", [tool]).check()
    return tool


def called(*tools: Any, value: str = SECRET, workers: Workers | None = None) -> list[Any]:
    """Call tools one after the other; return their answers, or what went wrong."""
    used = workers or Workers()

    async def story() -> list[Any]:
        found: list[Any] = []
        for tool in tools:
            try:
                found.append(await call_tool(tool, {"value": value}, "trace", used))
            except ToolFailedError as error:
                found.append((error.stage.value, error.told, error.detail))
        return found

    try:
        return anyio.run(story)
    finally:
        used.close()


def quick(given: Input) -> Output:
    return Output(value=given.value)


def never_ends(_: Input) -> Output:
    while True:
        pass


async def never_ends_on_the_loop(_: Input) -> Output:
    while True:
        pass


async def waits_for_ever(_: Input) -> Output:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("handler", [never_ends, never_ends_on_the_loop, waits_for_ever])
def test_a_handler_that_never_ends_costs_its_own_call(handler: Callable[..., Any]) -> None:
    """A handler loops for ever, also one that blocks the loop of the asynchronous ones"""

    async def is_served(given: Input) -> Output:
        return Output(value=given.value)

    stuck, *others = called(tool_of(handler, timeout=0.3), tool_of(quick), tool_of(is_served))
    assert stuck[:2] == ("EXECUTION", "operation timed out")
    assert others == [{"value": SECRET}] * 2


def test_handlers_that_do_not_end_are_not_piled_up() -> None:
    """Calls of a tool that hangs in the operating system fill the machine with threads"""
    release = [os.pipe() for _ in range(3)]

    def hangs(_: Input) -> Output:
        os.read(release[0][0], 1)
        raise AssertionError

    workers = Workers(most_stuck=2)
    try:
        found = called(*[tool_of(hangs, timeout=0.3)] * 3, workers=workers)
    finally:
        for _ in range(2):
            os.write(release[0][1], b"x")
    assert [detail for _, _, detail in found][-1] == "2 handlers do not end"


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "pid"
    for file in tmp_path.glob("pid*"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(file.read_text()), signal.SIGKILL)


CHILD = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"


def is_gone(marker: Path) -> bool:
    """Tell whether a program ends soon, which a loaded machine may take a while for."""
    for _ in range(3_000):
        process = int(marker.read_text())
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if sys.platform == "linux" and not is_alive(process):
            return True
        time.sleep(0.01)
    return False


def wait_for(marker: Path) -> None:
    while not (marker.exists() and marker.read_text()):
        time.sleep(0.01)


def called_beside(marker: Path, handler: Callable[..., Any] | Command, *, waits: bool, **more: Any) -> Any:
    """Call a tool that starts a program, and perhaps waits for it without end; return its answer.

    A busy machine gets longer than a moment to start the program in.
    """
    for seconds in (2.0, 20.0) if waits else ():
        [found] = called(tool_of(handler, timeout=seconds, **more))
        if marker.exists() and marker.read_text():
            return found
    [found] = called(tool_of(handler, **more))
    return found


linux = pytest.mark.skipif(sys.platform != "linux", reason="children of a thread are known on Linux only")


@linux
@pytest.mark.parametrize("waits", [True, False])
def test_a_child_of_a_handler_ends_with_its_call(marker: Path, *, waits: bool) -> None:
    """A handler leaves a program running, in a session of its own"""

    def starts(_: Input) -> Output:
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(marker)], start_new_session=True)
        wait_for(marker)
        if waits:
            child.wait()
        return Output(value="done")

    found = called_beside(marker, starts, waits=waits)
    assert found == {"value": "done"} if not waits else found[1] == "operation timed out"
    assert is_gone(marker)


def started_by_asyncio(marker: Path, *, waits: bool = True) -> Callable[..., Any]:
    async def starts(_: Input) -> Output:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CHILD, str(marker), start_new_session=True
        )
        if waits:
            await child.wait()
        await asyncio.to_thread(wait_for, marker)
        return Output(value="done")

    return starts


def started_in_a_thread(marker: Path, *, waits: bool = True) -> Callable[..., Any]:
    def start() -> None:
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(marker)], start_new_session=True)
        wait_for(marker)
        if waits:
            child.wait()

    async def starts(_: Input) -> Output:
        await asyncio.to_thread(start)
        return Output(value="done")

    return starts


def started_on_the_loop(marker: Path, *, waits: bool = True) -> Callable[..., Any]:
    async def starts(_: Input) -> Output:
        command = [sys.executable, "-c", CHILD, str(marker)]
        child = subprocess.Popen(command, start_new_session=True)  # noqa: ASYNC220 - as handlers do
        wait_for(marker)
        if waits:
            child.wait()
        return Output(value="done")

    return starts


ASYNCHRONOUS = [started_by_asyncio, started_in_a_thread, started_on_the_loop]


@linux
@pytest.mark.parametrize("starting", ASYNCHRONOUS)
@pytest.mark.parametrize("waits", [True, False])
def test_a_child_of_an_asynchronous_handler_ends_with_its_call(
    marker: Path, starting: Callable[..., Any], *, waits: bool
) -> None:
    """An asynchronous handler leaves a program running, or waits for one that does not end"""
    handler = starting(marker, waits=waits)
    found = called_beside(marker, handler, waits=waits)
    assert found == {"value": "done"} if not waits else found[1] == "operation timed out"
    assert is_gone(marker)


@linux
def test_the_end_of_a_call_ends_no_program_of_another(tmp_path: Path, marker: Path) -> None:
    """Of two asynchronous handlers on one loop, the one that is ended takes the other's program with it"""
    other, workers = tmp_path / "pid-other", Workers()
    found: dict[str, Any] = {}

    async def call(name: str, tool: Any) -> None:
        try:
            found[name] = await call_tool(tool, {}, "trace", workers)
        except ToolFailedError as error:
            found[name] = error.told

    async def story() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call, "other", tool_of(started_by_asyncio(other), timeout=100.0))
            await anyio.to_thread.run_sync(wait_for, other)
            for seconds in (2.0, 20.0):
                if not await anyio.Path(
                    marker
                ).exists():  # a busy machine may start no program within a moment
                    await call("one", tool_of(started_by_asyncio(marker), timeout=seconds))
            assert await anyio.to_thread.run_sync(is_gone, marker)
            os.kill(int(other.read_text()), signal.SIGTERM)

    try:
        anyio.run(story)
    finally:
        workers.close()
    # It was there to be ended by ourselves: its handler went on and answered.
    assert found == {"one": "operation timed out", "other": {"value": "done"}}


def test_a_program_and_what_it_left_end_with_its_call(marker: Path) -> None:
    """A command starts another one in a session of its own, and never ends"""
    start = f"[sys.executable, '-c', {CHILD!r}, sys.argv[1]], start_new_session=True"
    text = f"import subprocess, sys; subprocess.Popen({start}).wait()"
    command = cli_command(sys.executable, lambda _: ["-c", text, str(marker)], timeout=60.0)
    found = called_beside(marker, command, waits=True, output=Text)
    assert found[1] == "operation timed out"
    assert is_gone(marker)


INJECTED = [
    "; touch PWNED",
    "$(touch PWNED)",
    "`touch PWNED`",
    "a\nb",
    "| tee PWNED",
    "--output=PWNED",
    "a b  c",
    "*",
]


@pytest.mark.parametrize("value", INJECTED)
def test_an_argument_reaches_a_program_as_one_argument(value: str, tmp_path: Path) -> None:
    """A value is written so that a shell would run it"""
    code = "import sys, json; print(json.dumps({'text': sys.argv[1:]}))"

    command = cli_command(
        sys.executable, lambda given: ["-c", code, "--", given.value], cwd=tmp_path, output="json"
    )
    [found] = called(tool_of(command, Seen), value=value)
    assert found == {"text": ["--", value]}
    assert list(tmp_path.iterdir()) == []


def test_an_argument_with_nul_reaches_no_program() -> None:
    """A value holds NUL, which ends a C string"""
    [found] = called(tool_of(cli_command("echo", lambda given: [given.value]), Text), value="a\0b")
    assert found[:2] == ("EXECUTION", "internal error")


def test_a_line_separator_in_a_string_ends_no_line_of_json() -> None:
    code = r'print("{\"value\": \"one\\u2028two\"}".encode().decode("unicode_escape"))'
    command = cli_command(sys.executable, lambda _: ["-X", "utf8", "-c", code], output="jsonl")

    tool = tool_of(command, Lines, timeout=30, output_policy={".items": "allow"})
    assert called(tool) == [{"items": [{"value": "one\u2028two"}]}]


def test_a_program_sees_no_variable_that_was_not_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets of the server's environment are read by a command"""
    monkeypatch.setenv("API_TOKEN", SECRET)
    code = "import os, json; print(json.dumps({'text': ' '.join(sorted(os.environ))}))"
    command = cli_command(sys.executable, lambda _: ["-c", code], env={"LANG": "C"}, output="json")
    [found] = called(tool_of(command, Text))
    assert set(found["text"].split()) <= {"LANG", "LC_CTYPE"}


def test_a_program_that_writes_too_much_gives_no_answer() -> None:
    """A command floods its output"""
    code = "while True: print('x' * 1000)"
    command = cli_command(sys.executable, lambda _: ["-c", code], most_bytes=10_000)
    [found] = called(tool_of(command, Text))
    assert found == ("EXECUTION", "internal error", "it wrote more than 10,000 bytes")


def raises(given: Input) -> Output:
    raise ValueError(f"no row for {given.value}")


async def raises_later(given: Input) -> Output:
    raise RuntimeError(given.value)


def exits(given: Input) -> Output:
    sys.exit(given.value)


def answers_nonsense(given: Input) -> Any:
    return {"value": {"name": given.value}}


def answers_no_number(_: Input) -> Any:
    return {"value": "x", "more": float("nan")}


FAILING = [raises, raises_later, exits, answers_nonsense, answers_no_number, never_ends, waits_for_ever]


@pytest.mark.parametrize("handler", FAILING)
def test_what_a_handler_says_of_its_failure_is_neither_told_nor_recorded(handler: Callable[..., Any]) -> None:
    """Personal data stand in an error message, or in what a handler was given when its time was over"""
    [(_, told, detail)] = called(tool_of(handler, timeout=0.3))
    assert told in {"internal error", "operation timed out"}
    assert SECRET not in detail


def test_what_a_program_writes_to_standard_error_is_neither_told_nor_recorded() -> None:
    """Personal data stand in a command's standard error"""
    code = f"import sys; sys.stderr.write({SECRET!r}); sys.exit(3)"
    [found] = called(tool_of(cli_command(sys.executable, lambda _: ["-c", code]), Text))
    assert found == ("EXECUTION", "internal error", "it ended with the status 3")


def test_a_field_that_nobody_declared_does_not_leave() -> None:
    """A handler's answer has a field that the output does not declare"""

    def answers(_: Input) -> dict[str, str]:
        return {"value": "x", "password": SECRET}

    tool = tool_of(answers)
    [whole] = called(tool)
    assert tool.output_policy.apply(whole).value == {"value": "x"}


def test_a_definition_does_not_change_after_it_was_made() -> None:
    """A module changes its input model and its tool while it is served"""

    tool = define_tool(
        name="tool",
        description="A tool.",
        classification="read",
        permissions=["public"],
        input=Strict,
        output=Output,
        output_policy={".value": "allow"},
        handler=lambda given: {"value": str(given.value)},
    )
    Strict.model_fields["value"].annotation = str
    Strict.__annotations__["value"] = str
    Strict.model_rebuild(force=True)
    [found] = called(tool, value="not a number")
    assert found[0] == "VALIDATION"
    with pytest.raises(AttributeError):
        tool.permissions = ("public",)  # type: ignore[misc]  # that it cannot be set is the point


def exits_now(_: object) -> Any:
    sys.exit(SECRET)


class Exiting(BaseModel):
    value: Annotated[str, AfterValidator(exits_now)] = ""


EXITING = [
    {"handler": quick, "input": Exiting},
    {"handler": lambda _: {"value": "x"}, "output": Exiting},
    {"handler": cli_command("true", exits_now), "output": Text},
    {"handler": cli_command("true", lambda _: [], output=exits_now), "output": Text},
]


@pytest.mark.parametrize("parts", EXITING, ids=["input", "output", "arguments", "reader"])
def test_no_part_of_a_declaration_ends_the_server(parts: dict[str, Any]) -> None:
    """A validator, a builder of arguments or a reader of output raises SystemExit"""
    failed, after = called(tool_of(**parts), tool_of(quick))
    assert failed[1] == "internal error"
    assert SECRET not in failed[2]
    assert after == {"value": SECRET}


def test_a_builder_of_arguments_that_never_ends_costs_its_own_call() -> None:
    """The function that makes a command's arguments loops for ever"""
    stuck, after = called(
        tool_of(cli_command("true", lambda given: [never_ends(given).value]), Text, timeout=0.3),
        tool_of(quick),
    )
    assert stuck[:2] == ("EXECUTION", "operation timed out")
    assert after == {"value": SECRET}


def test_programs_are_not_piled_up(tmp_path: Path) -> None:
    """Calls of a tool that runs a program fill the machine with processes"""
    end = tmp_path / "end"
    waits = cli_command("sh", lambda _: ["-c", f"until [ -e {end} ]; do sleep 0.05; done"])
    tool = tool_of(waits, Text)
    workers, found = Workers(most_running=2), []

    async def call() -> None:
        try:
            found.append(await call_tool(tool, {}, "trace", workers))
        except ToolFailedError as error:
            found.append(error.detail)
            end.touch()

    async def story() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)

    anyio.run(story)
    assert sorted(found, key=str) == ["more than 2 handlers run", {"text": ""}, {"text": ""}]


def test_a_program_of_many_names_does_what_its_declared_name_says(tmp_path: Path) -> None:
    """A command is a link to a program that takes its name, or else its first argument, for what to do"""
    many = tmp_path / "many"
    many.write_text('#!/bin/sh\ncase "${0##*/}" in show) echo shown;; *) echo "asked to $1";; esac\n')
    many.chmod(0o755)
    (tmp_path / "show").symlink_to(many)
    command = cli_command(str(tmp_path / "show"), lambda given: [given.value])
    [found] = called(tool_of(command, Text), value="erase")
    assert found == {"text": "shown\n"}


TERMINAL = [
    "\x1b[31mred\x1b[0m",
    "\x1b\x1b[0m[31mred",
    "\x9b31mred",
    "\x1b(Bred",
    "\x1bP1;2qimage\x1b\\red",
    "\x1b]8;;http://evil.example\x07red",
    "\x9d0;title\x9cred",
    "red\x1b",
    "green\x08\x08\x08\x08\x08red",
    "green\rred",
    "\x0ered\x0f",
    "red\x7f\r\n",
]


@pytest.mark.parametrize("text", TERMINAL)
def test_a_sequence_for_a_terminal_is_not_answered(text: str) -> None:
    """A command's output holds sequences that a terminal would obey, also ones that are whole only later"""
    code = f"import sys; sys.stdout.buffer.write({text!r}.encode())"
    [found] = called(tool_of(cli_command(sys.executable, lambda _: ["-c", code]), Text))
    assert found["text"] in {"red", "[31mred", "greenred", "red\n"}


def test_the_words_of_an_exception_that_nobody_takes_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Personal data stand in an exception of a task that an asynchronous handler does not wait for"""

    async def fails() -> None:
        raise ValueError(SECRET)

    async def begins(_: Input) -> Output:
        task = asyncio.create_task(fails())
        await asyncio.wait([task])
        del task
        gc.collect()
        return Output(value="done")

    assert called(tool_of(begins)) == [{"value": "done"}]
    assert SECRET not in caplog.text
