"""An agent that gets at the user's machine through the command that tells of calls that wait.

Held by: a command without a shell, facts that are data and safe to show, a small environment, redaction as in
the log, a thread of its own with a time limit, and a keeper that ends whatever the command starts.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from support.deployments.faulty import proxy_of
from support.deployments.proxied import (
    LONG,
    Living,
    Place,
    is_alive,
    rules,
    text_of,
    until,
    wait_for,
    written_lines,
)
from support.projects.policies import rule
from support.records.approvals import written

from ironcurtain.enforcement.approvals.hook import MAX_QUEUED, Hook, HookCommand
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.errors import UsageError

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "schemas" / "approval-notice.json").read_text())
TOLD = """
import json, os, sys
facts = sys.stdin.read()
with open({out!r}, "a") as out:
    print(json.dumps({{"facts": facts, "environment": dict(os.environ), "cwd": os.getcwd()}}), file=out)
"""


class Told:
    """A command that writes down what it is told."""

    def __init__(self, base: Path) -> None:
        self.out = base / "told"
        self.script = base / "tell.py"
        self.script.write_text(TOLD.format(out=str(self.out)))
        self.command = shlex.join([sys.executable, "-I", str(self.script)])

    @property
    def found(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in written_lines(self.out)] if self.out.exists() else []


@contextmanager
def hook(command: str, said: list[str], **options: Any) -> Iterator[Hook]:
    opened = Hook(HookCommand.parse(command), lambda request: request, said.append, **options)
    try:
        yield opened
    finally:
        opened.close()


@contextmanager
def told_of(base: Path, request: ApprovalRequest) -> Iterator[dict[str, Any]]:
    told, said = Told(base), list[str]()
    with hook(told.command, said) as opened:
        opened.tell(request)
        wait_for(lambda: told.found)
        yield told.found[0]
    assert said == []


def renamed(**other: Any) -> ApprovalRequest:
    return written().model_copy(update=other)


NAMES = ["$(touch OWNED)", "`touch OWNED`", "'; touch OWNED; '", '"; touch OWNED; "', "--help", "%n\\x"]


def test_argument_text_in_the_message_is_a_command(tmp_path: Path) -> None:
    """Through the proxy, with a hook of the documented form that hands the message to a program."""
    place = Place(tmp_path.resolve())
    place.publish([rule("removal", "escalate", tool=["remove"])], place.names)
    out, owned = tmp_path / "message", tmp_path / "OWNED"
    show = f'cd {tmp_path} && printf %s "$IRONCURTAIN_APPROVAL_SUMMARY" > {out}.new && mv {out}.new {out}'
    command = shlex.join(["sh", "-c", show])

    async def call() -> None:
        async with place.client("--on-approval", command, "--patience", "0.1") as client:
            await until(place.is_up)
            for name in NAMES:
                result = await client.call_tool("fix__remove", {"path": f"{place.home}/{name}"})
                assert "Repeat exactly the same call" in text_of(result), name
                await until(out.exists)
                assert out.read_text().startswith("Waits for you: fix remove deletes "), name
                assert name.replace('"', '\\"').replace("\\x", "\\\\x") in out.read_text()
                out.unlink()

    anyio.run(call)
    assert not owned.exists()
    assert not (place.home / "OWNED").exists()


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[2J\x1b]0;title\x07",
        "a\nWaits for you: nothing",
        "a\u202eb",
        "a\u200bb\U000e0041",
        "p\u0430ypal",
        "\0",
    ],
)
def test_text_that_styles_what_shows_the_message(text: str, tmp_path: Path) -> None:
    subjects = tuple(each.model_copy(update={"value": f"/srv/{text}"}) for each in written().subjects)
    request = renamed(tool=f"tool{text}", server=f"s{text}", reason=text, subjects=subjects, session=text)
    with told_of(tmp_path, request) as told:
        shown = json.loads(told["facts"])
    Draft202012Validator(SCHEMA).validate(shown)
    texts = [*_texts(shown), told["environment"]["IRONCURTAIN_APPROVAL_SUMMARY"]]
    assert len(texts) > 10
    assert not [each for each in texts if text in each or not each.isprintable()]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(below)


def test_a_message_that_is_taken_for_an_option_or_has_no_end(tmp_path: Path) -> None:
    subject = written().subjects[0]
    many = tuple(subject.model_copy(update={"value": f"/srv/{n}/" + "x" * 9000}) for n in range(500))
    with told_of(tmp_path, renamed(subjects=many, server="-e", reason="y" * 100_000)) as told:
        summary, facts = told["environment"]["IRONCURTAIN_APPROVAL_SUMMARY"], json.loads(told["facts"])
    assert summary.startswith("Waits for you: ")
    assert len(summary) <= 300
    assert len(told["facts"]) < 20_000
    assert (len(facts["resources"]), facts["more"]) == (20, 480)


def test_secrets_of_the_proxy_of_the_call_and_of_what_answers(tmp_path: Path) -> None:
    place, told = Place(tmp_path.resolve()), Told(tmp_path.resolve())
    place.publish(rules(), place.names)
    token = "ghp_" + "a1B2" * 9

    async def call() -> None:
        async with place.client("--on-approval", told.command, "--patience", "0.1") as client:
            await until(place.is_up)
            await client.call_tool("fix__remove", {"path": f"{place.home}/{token}"})
            await until(lambda: told.found)

    anyio.run(call)
    [found] = told.found
    whole = json.dumps(found)
    assert token not in whole
    assert "[redacted:" in found["facts"]
    assert "SECRET_OF_OURS" not in found["environment"]
    assert {*found["environment"]} <= {
        *("PATH", "HOME", "LC_CTYPE"),
        *(f"IRONCURTAIN_APPROVAL_{each}" for each in ("ID", "SUMMARY", "EXPIRES")),
    }
    request = json.loads(next((place.home / ".ironcurtain" / "approvals").glob("request-*.json")).read_text())
    assert request["seal"] not in whole
    assert request["request"]["binding"] not in whole
    assert found["cwd"] == "/"


def test_values_that_the_log_does_not_keep(tmp_path: Path) -> None:
    place, told = Place(tmp_path.resolve()), Told(tmp_path.resolve())
    options = ("--on-approval", told.command, "--patience", "0.1", "--audit-values", "abstract")

    async def call() -> None:
        async with place.client(*options) as client:
            await until(place.is_up)
            await client.call_tool("fix__remove", {"path": f"{place.home}/diary"})
            await until(lambda: told.found)

    anyio.run(call)
    [found] = told.found
    assert "diary" not in json.dumps(found)
    assert json.loads(found["facts"])["resources"][0]["value"] == "[withheld]"


def test_a_hook_that_hangs_holds_up_no_call_and_no_end(tmp_path: Path) -> None:
    place, pid = Place(tmp_path.resolve()), tmp_path / "pid"
    command = f"sh -c 'echo $$ > {pid}.new && mv {pid}.new {pid}; exec sleep 1000'"

    async def call() -> Living:
        async with place.client("--on-approval", command, "--patience", "0.1") as client:
            await until(place.is_up)
            for name in ("a", "b", "c"):
                result = await client.call_tool("fix__remove", {"path": f"{place.home}/{name}"})
                assert "Repeat exactly the same call" in text_of(result)
            await until(pid.exists)
            assert is_alive(int(pid.read_text()))
            return Living(await proxy_of(place))

    anyio.run(call).wait_until_gone()
    assert not is_alive(int(pid.read_text()))
    assert [each["approval"]["state"] for each in place.decisions] == ["pending"] * 3


def test_a_hook_that_hangs_is_ended_and_the_next_request_is_told(tmp_path: Path) -> None:
    said, out = list[str](), tmp_path / "runs"
    with hook(f"sh -c 'echo run >> {out}; exec sleep 1000'", said, seconds=1.0) as opened:
        opened.tell(written())
        wait_for(lambda: said)
        out.unlink(missing_ok=True)
        for _ in range(MAX_QUEUED):  # a busy machine may need longer than the limit to start one
            opened.tell(written())
        wait_for(out.exists)
    assert said == ["the command of --on-approval: it did not end within 1 s, and was ended"]


def test_a_hook_that_floods() -> None:
    said = list[str]()
    with hook("sh -c 'yes >&2 & yes'", said, seconds=1.0) as opened:
        opened.tell(written())
        wait_for(lambda: said)
    assert said == ["the command of --on-approval: it did not end within 1 s, and was ended"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt what others leave")
def test_a_hook_that_forks_what_stays(tmp_path: Path) -> None:
    """Daemons of sessions of their own, whose parents have ended."""
    said, pids = list[str](), tmp_path / "pids"
    pids.touch()  # of a file that is not there the script would count no lines, and end before its daemons
    daemon = f'sh -c "echo \\$\\$ >> {pids}; exec sleep 1000" > /dev/null 2>&1 &'
    script = tmp_path / "forks"
    script.write_text(
        f"setsid {daemon}\n(setsid {daemon})\n{daemon}\nwhile [ $(wc -l < {pids}) -lt 3 ]; do :; done\n"
    )
    with hook(f"sh {script}", said, seconds=LONG) as opened:
        opened.tell(written())
        wait_for(lambda: len(written_lines(pids)) == 3)
        wait_for(lambda: not any(is_alive(int(pid)) for pid in pids.read_text().split()))
    assert said == []


def test_more_requests_than_are_told() -> None:
    said = list[str]()
    with hook("sleep 1000", said, seconds=LONG) as opened:
        for _ in range(MAX_QUEUED + 5):
            opened.tell(written())
    assert said == ["the command of --on-approval: too many requests wait: some are not told"]


def test_a_hook_that_fails_says_so_once(tmp_path: Path) -> None:
    said, out = list[str](), tmp_path / "runs"
    with hook(f"sh -c 'echo run >> {out}; exit 3'", said) as opened:
        for _ in range(3):
            opened.tell(written())
        wait_for(lambda: out.exists() and out.read_text().count("run") == 3)
        wait_for(lambda: said)
    assert said == ["the command of --on-approval: it ended with 3"]


def test_a_hook_that_an_agent_could_have_written(tmp_path: Path) -> None:
    """In the sandbox, or in a file that others can write: as the program, and as a script of one."""
    script = tmp_path / "hook.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    for command in (str(script), f"sh {script}"):
        with pytest.raises(UsageError, match="tools or servers can write there"):
            HookCommand.parse(command).check([tmp_path])
        HookCommand.parse(command).check([])
        script.chmod(0o777)
        with pytest.raises(UsageError, match="is not run"):
            HookCommand.parse(command).check([])
        script.chmod(0o755)


@pytest.mark.parametrize("command", ["", "'", "no-such-program-anywhere", "/nowhere/program"])
def test_a_hook_that_is_none_keeps_the_proxy_from_starting(command: str) -> None:
    with pytest.raises(UsageError):
        HookCommand.parse(command)


def test_the_script_of_the_hook_is_protected_from_tools(tmp_path: Path) -> None:
    place, told = Place(tmp_path.resolve()), Told(tmp_path.resolve())

    async def call() -> None:
        async with place.client("--on-approval", told.command) as client:
            await until(place.is_up)
            assert (await client.call_tool("fix__echo", {"path": str(told.script)})).is_error

    anyio.run(call)
    assert place.decisions[-1]["rule"] == "structural-protected-path"
