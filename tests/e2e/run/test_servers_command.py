"""Taking a new server into a project: left at each step and gone on with; listed; removed."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from e2e.program import PROGRAM, Ended, Inside, assert_clear, environment
from fixtures.tiny_project import ANNOTATIONS, answer, tree
from support.machines.contained import NEEDS_SANDBOX

from ironcurtain.errors import Exit

SERVER = Path(__file__).parents[2] / "fixtures" / "drifting_server.py"
COMMAND = ("--", sys.executable, str(SERVER), "words")
DIARY: dict[str, Any] = {
    "tools": [
        {
            "tool": "burn_note",
            "side_effects": True,
            "contained": True,
            "comment": "",
            "args": [{"name": "path", "roles": ["delete-path"]}],
        },
        *ANNOTATIONS["tools"],
    ]
}
ROUTES = {"clauses": [{"clause": f"C{number}", "servers": ["notes"]} for number in (2, 3, 4)]}


@pytest.fixture
def growing(project: Path, waivers: str) -> Path:
    """Return the compiled project, with a server to be added that lists three tools."""
    (project / "words").write_text("added")
    (project / "waivers.yaml").write_text(waivers)
    # Contained wherever this machine can.
    shipped = {"mcpServers": {"notes": {"tools": "tools.json"}}, "sandbox": {"policy": "skip"}}
    servers = json.dumps(shipped)
    (project / "mcp-servers.json").write_text(servers)
    return project


class Cut:
    """Runs `servers add` as a program of its own and ends it as soon as it says that a step is done."""

    def __init__(self, project: Path) -> None:
        self.project = project

    def off(self, said: str, number: int, *arguments: str) -> Ended:
        """End it behind a line that holds some words, if it comes so far; return how it ended.

        What it had left to do may be done before it is ended: then everything is put back, and it runs again.
        """
        before = Path(shutil.copytree(self.project, self.project.with_name("before"), dirs_exist_ok=True))
        for _ in range(20):
            come, ended = self._run(said, number, *arguments)
            if not come or ended.code in (-number, Exit.INTERRUPTED):
                assert "Traceback" not in ended.err
                return ended
            shutil.rmtree(self.project)
            shutil.copytree(before, self.project)
        raise AssertionError(f"it always ended in time: {ended}")

    def _run(self, said: str, number: int, *arguments: str) -> tuple[bool, Ended]:
        command = [*PROGRAM, "servers", "add", "diary", *arguments]
        with subprocess.Popen(
            command,
            cwd=self.project,
            env=environment(),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        ) as run:
            assert run.stderr is not None
            lines: list[str] = []
            come = False
            for line in run.stderr:
                lines.append(line)
                come = said in line
                if come:
                    run.send_signal(number)
                    break
            lines += run.stderr
        return come, Ended(run.returncode, "", "".join(lines))


def test_a_server_comes_in_step_by_step(inside: Inside, growing: Path) -> None:
    before = json.loads((growing / "mcp-servers.json").read_text())

    def again(*arguments: str) -> Ended:
        return inside("servers", "add", "diary", *arguments, cwd=growing)

    # It is read and written down; then a person has to answer.
    first = again(*COMMAND)
    assert (first.code, first.codes, first.out) == (4, ["IC4001"], "")
    assert "read: 3 tools of diary\nwritten: diary in mcp-servers.json\n" in first.err
    after = json.loads((growing / "mcp-servers.json").read_text())
    assert after["mcpServers"].pop("diary") == {"command": sys.executable, "args": [str(SERVER), "words"]}
    assert after == before
    assert "diary: not in the policy: every call is denied: " in inside("servers", "list", cwd=growing).out

    # The same command goes on: it says what is new, and what no rule speaks of.
    answer(growing, "annotate-diary-1", DIARY)
    second = again(*COMMAND)
    assert second.code == 0, second.err
    assert "written" not in second.err
    assert "new to the policy: burn_note\n    delete-path in the sandbox: allow the sandbox\n" in second.out
    assert "    uncovered: read-path in everything else: deny no rule\n" in second.out
    assert "3 of 5 cells are uncovered" in second.out
    assert second.out.endswith(
        "ironcurtain verify generated/bundle\n    ironcurtain matrix generated/bundle\n"
    )

    # The name alone is enough, too; the compile has questions of its own.
    assert "waiting[IC4001]: clauses: " in again("--compile").err
    answer(growing, "clauses", ROUTES)
    # Nothing of the old policy is gone until the new one is whole, whatever ends the compile.
    generated = tree(growing / "generated")
    cut = Cut(growing).off(" verify and repair: ", signal.SIGKILL, "--compile")
    assert (cut.code, tree(growing / "generated")) == (-signal.SIGKILL, generated), cut.err
    told = again("--compile", "--format", "json")
    assert told.code == 0, told.err
    report = json.loads(told.out)
    assert (report["stage"], {tool["status"] for tool in report["tools"]}) == ("compiled", {"known"})
    assert not (growing / "questions").exists()
    assert "diary: the policy knows 3 tools: " in inside("servers", "list", cwd=growing).out


def test_every_step_can_be_broken_off_and_gone_on_with(inside: Inside, growing: Path) -> None:
    cut, file = Cut(growing), growing / "mcp-servers.json"
    before = file.read_text()
    assert cut.off("read: ", signal.SIGKILL, *COMMAND).code == -signal.SIGKILL
    assert file.read_text() == before or "diary" in json.loads(file.read_text())["mcpServers"]
    file.write_text(before)
    assert cut.off("written: ", signal.SIGINT, *COMMAND).code == Exit.INTERRUPTED
    written = file.read_text()
    assert list(json.loads(written)["mcpServers"]) == ["notes", "diary"]

    # The name alone goes on: it is not written twice, and it asks what it had no time to ask.
    asked = inside("servers", "add", "diary", cwd=growing)
    assert (asked.code, asked.codes, "written" in asked.err) == (4, ["IC4001"], False), asked.err
    answer(growing, "annotate-diary-1", DIARY)
    assert cut.off("annotated: ", signal.SIGKILL).code == -signal.SIGKILL
    shown = inside("servers", "add", "diary", cwd=growing)
    assert (shown.code, file.read_text()) == (0, written), shown.err
    assert "3 of 5 cells are uncovered" in shown.out


def test_a_server_that_does_not_start_is_not_written_down(inside: Inside, growing: Path) -> None:
    before = (growing / "mcp-servers.json").read_bytes()
    (growing / "words").write_text("dies")
    ended = inside("servers", "add", "diary", *COMMAND, cwd=growing)
    assert (ended.code, ended.codes) == (3, ["IC3201"])
    assert (growing / "mcp-servers.json").read_bytes() == before


@NEEDS_SANDBOX
def test_without_a_policy_everything_is_denied(inside: Inside, growing: Path) -> None:
    shutil.rmtree(growing / "generated")
    (growing / "mcp-servers.json").unlink()
    asked = inside("servers", "add", "diary", "--env", "KEY=a=b", "--cwd", ".", *COMMAND, cwd=growing)
    assert asked.code == 4
    written = json.loads((growing / "mcp-servers.json").read_text())["mcpServers"]["diary"]
    assert (written["env"], written["cwd"]) == ({"KEY": "a=b"}, ".")
    answer(growing, "annotate-diary-1", DIARY)
    ended = inside("servers", "add", "diary", cwd=growing)
    assert ended.code == 0, ended.err
    assert "no policy is published yet: every call is denied until one is compiled" in ended.out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("add diary", "there is no server"),
        ("add notes -- other", "another command or other keys"),
        ("add diary --env A=1", "belong to a command"),
        ("add diary --env A -- x", "KEY=VALUE"),
        ("add diary --env =1 -- x", "KEY=VALUE"),
        ("add di__ary -- x", "String should match"),
        ("remove diary", "there is no server"),
        ("remove notes", "the only server"),
    ],
)
def test_what_is_refused(arguments: str, complaint: str, inside: Inside, project: Path) -> None:
    before = (project / "mcp-servers.json").read_bytes()
    ended = inside("servers", *shlex.split(arguments), cwd=project)
    assert ended.code == 2, ended.err
    assert complaint in ended.err
    assert (project / "mcp-servers.json").read_bytes() == before


def test_permissions_go_into_the_file_that_is_named(inside: Inside, project: Path, tmp_path: Path) -> None:
    before = (project / "mcp-servers.json").read_text()
    wrapped = tmp_path / "wrapped.json"
    wrapped.write_text('{"mcpServers": {"diary": {"command": "diary"}}}')
    add = ("servers", "add", "diary", "--servers", str(wrapped))
    ended = inside(*add, "--allow-write", "/srv/diary", cwd=project)
    assert (ended.code, ended.out) == (0, "")
    assert "written: the sandbox of diary may write /srv/diary" in ended.err
    entry = json.loads(wrapped.read_text())["mcpServers"]["diary"]
    assert entry["sandbox"] == {"filesystem": {"allowWrite": ["/srv/diary"]}}
    assert (project / "mcp-servers.json").read_text() == before
    for refused in ((*add, "--", "diary"), add):
        assert_clear(inside(*refused, cwd=project), 2, "IC1001")
    wrapped.unlink()
    assert_clear(inside(*add, "--allow-write", "/srv/diary", cwd=project), 2, "IC1002")


def test_remove_says_what_still_speaks_of_the_server(inside: Inside, project: Path) -> None:
    file = project / "mcp-servers.json"
    spare = {"command": "spare"}
    servers = json.loads(file.read_text())["mcpServers"]
    file.write_text(json.dumps({"mcpServers": {**servers, "spare": spare}}))
    ended = inside("servers", "remove", "notes", cwd=project)
    assert ended.code == 0
    assert "the published policy knows notes until the next `ironcurtain compile`" in ended.err
    assert json.loads(file.read_text()) == {"mcpServers": {"spare": spare}}
    listed = json.loads(inside("servers", "list", "--format", "json", cwd=project).out)["servers"]
    assert [(each["name"], each["state"]) for each in listed] == [("notes", "removed"), ("spare", "new")]
