"""The files of a contained start, and what is told of one."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene

from ironcurtain.enforcement.sandbox.contained_process import ContainedStart, contained, private_workspace
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.enforcement.sandbox.profile import Profile
from ironcurtain.enforcement.sandbox.programs import Programs, ProgramSurvey
from ironcurtain.enforcement.sandbox.report import Observation, Report
from ironcurtain.servers.server_process import ServerStart
from ironcurtain.servers.stdio_transport import connect_pipes
from ironcurtain.system.files import atomic_write
from ironcurtain.system.private_runtime import runtime_directory, turn
from ironcurtain.system.structs import replace

PROGRAMS = Programs(
    node="/usr/bin/node", library="/lib/index.js", bwrap="/usr/bin/bwrap", socat="/s", rg="/r"
)


def profile(*denied: Path) -> Profile:
    return Profile(deny_write=denied)


def test_its_files_are_private_and_removed_at_the_end(tmp_path: Path) -> None:
    start = ServerStart(command="server", args=["a b"], env={"ONE": "1"}, cwd=tmp_path)
    with contained(start, profile(), PROGRAMS) as inside:
        place = inside.report.parent
        for path in (place, *place.rglob("*")):
            assert path.stat().st_mode & 0o077 == 0, path.name
        assert inside.start.args[-3:] == [str(tmp_path), "server", "a b"]
        assert inside.start.env is not None
        assert "ONE" not in inside.start.env
        assert (place / "environment").read_text() == "--setenv\0ONE\x001\0"
    assert not place.exists()


def test_settings_hold_no_environment_and_close_themselves(tmp_path: Path) -> None:
    start = ServerStart(command="server", env={"TOKEN": "very-secret"}, cwd=tmp_path)
    with contained(start, profile(), PROGRAMS) as inside:
        text = (inside.report.parent / "settings.json").read_text()
        files = json.loads(text)["filesystem"]
        hidden, open_ = ([entry["path"] for entry in files[key]] for key in ("denyRead", "allowRead"))
        assert "very-secret" not in " ".join([text, *inside.start.args])
        assert str(runtime_directory()) in hidden
        assert {Path(path).parent for path in open_} == {inside.report.parent}
        assert not {path.name for path in inside.report.parent.iterdir() if path.is_file()} & {
            Path(path).name for path in open_
        }


def held_in(inside: ContainedStart) -> set[str]:
    """Return what the runtime is told to hold."""
    settings = json.loads((inside.report.parent / "settings.json").read_text())
    held = settings["filesystem"]["denyWrite"]
    assert all(entry["literal"] is True for entry in held), "a name is never a pattern"
    return {entry["path"] for entry in held}


def test_what_is_not_there_has_an_empty_stand_in_for_a_while(tmp_path: Path) -> None:
    directories = {"file.yaml", "a", "questions", "used"}
    there, file, deep, used = (tmp_path / name for name in ("there.yaml", "file.yaml", "a/b/c", "used"))
    directory, config, team = (tmp_path / name for name in ("questions", "config", "team"))
    there.write_text("")
    held = (there, file, deep, used, config, team, directory, directory / "1.json")
    with contained(
        ServerStart(command="x"), Profile(deny_write=held, git_files=(config, team)), PROGRAMS
    ) as inside:
        files = {"there.yaml", "config", "team"}
        assert held_in(inside) == {str(tmp_path / name) for name in directories | files}
        assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == directories
        assert not any(path.stat().st_size for path in tmp_path.iterdir() if path.is_file())
        assert not list(tmp_path.glob("*/*"))
        (used / "more").write_text("the user's own")
        team.write_text("the user's own")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["team", "there.yaml", "used"]


def test_what_people_put_into_a_stand_in_stays(tmp_path: Path) -> None:
    asked = tmp_path / "questions" / "1.json"
    with private_workspace([asked.parent]):
        asked.write_text("the user's own")
    assert asked.exists()


def test_a_stand_in_stays_until_the_last_server_that_has_it_ends(tmp_path: Path) -> None:
    deep, start = tmp_path / "a" / "b", ServerStart(command="x")
    with ExitStack() as second:
        with contained(start, profile(deep), PROGRAMS):
            other = second.enter_context(contained(start, profile(deep), PROGRAMS))
            assert str(tmp_path / "a") in held_in(other)
        assert (tmp_path / "a").is_dir()
    assert not list(tmp_path.iterdir())


def test_a_report_is_read_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text(
        '{"observed": {"write": true, "read": true, "network": false}}\n{"violation": "deny \\u001b[2J'
    )
    report = Report(path, tmp_path)
    (first,) = report.new()
    assert (first.kind, first.text) == ("open", "a probe in the sandbox could connect to this machine")
    with path.open("a") as file:
        file.write('x"}\n{"refused": "no"}\n')
    second, third = report.new()
    assert second.kind == "violation"
    assert "\x1b" not in second.text
    assert (third.kind, third.text) == ("refused", "no")
    assert report.new() == []
    path.unlink()
    assert report.new() == []


def test_a_start_waits_for_others_beside_the_loop_and_what_is_replaced_is_told(tmp_path: Path) -> None:
    """A mount goes with the file below it: whoever replaces that opens the place until the next start."""
    scene = Scene(tmp_path.resolve() / "scene")
    config = scene.config()
    grounds = replace(scene.grounds(config), protected=(scene.inside / "absent.yaml",))
    launcher = SandboxLauncher(config, grounds, ProgramSurvey(PROGRAMS))
    started, seen, told = anyio.Event(), anyio.Event(), list[Observation]()

    async def tell(_name: str, one: Observation) -> None:
        told.append(one)
        seen.set()

    async def start() -> None:
        program = ServerStart(command="x", cwd=tmp_path)
        said = scene.said.append
        async with launcher.connect(
            "escaping",
            program,
            on_words=said,
            on_end=said,
            tell=tell,
            opened=connect_pipes,
        ):
            started.set()
            await seen.wait()

    async def beside() -> None:
        async with anyio.create_task_group() as tasks:
            with turn():
                tasks.start_soon(start)
                for _ in range(10):
                    await anyio.sleep(0.01)
                assert not started.is_set()
            with anyio.fail_after(60):
                await started.wait()
            atomic_write(scene.inside / "absent.yaml", b"the user's own")
            with anyio.fail_after(60):
                await seen.wait()

    anyio.run(beside)
    assert [(one.kind, one.text.partition(";")[0]) for one in told] == [
        ("open", f"{scene.inside}/absent.yaml was replaced or removed")
    ]


@NEEDS_SANDBOX
def test_a_server_that_cannot_be_contained_is_not_started(tmp_path: Path) -> None:
    scene = Scene(tmp_path.resolve() / "scene")
    with pytest.raises(BaseException):  # noqa: B017, PT011 - whatever the SDK says when a server ends
        scene.visit("quick", sandbox={"network": {"allowedDomains": ["*"]}})
    (ended,) = [said for said in scene.said if said.startswith("its sandbox could not be made: ")]
    assert "allowedDomains" in ended


KILLED = """
import os, signal, sys
from pathlib import Path
from ironcurtain.enforcement.sandbox.contained_process import private_workspace
from ironcurtain.servers.stdio_transport import connect_pipes

with private_workspace([Path(sys.argv[1])]) as (place, _):
    (place / "tmp").mkdir()
    (place / "tmp" / "file").write_text("left")
    print(place, flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    input()
"""


def test_the_next_start_sweeps_what_a_killed_one_left_and_nothing_of_the_living(tmp_path: Path) -> None:
    def owner(name: str, end: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path / name), end],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with owner("living-held", "lives") as living, owner("held", "killed") as killed:
        assert living.stdout is not None
        assert killed.stdout is not None
        lives, left = Path(living.stdout.readline().strip()), Path(killed.stdout.readline().strip())
        killed.wait()
        with contained(ServerStart(command="x"), profile(), PROGRAMS):
            assert not left.exists()
            assert not (tmp_path / "held").exists()
            assert (lives / "tmp" / "file").exists()
            assert (tmp_path / "living-held").exists()
        living.communicate("\n")
    assert not lives.exists()
    assert not (tmp_path / "living-held").exists()
