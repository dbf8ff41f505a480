"""Every kind of bad input to a compile: one clear error, its exit code, and the last result untouched."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from e2e.program import PROGRAM, Ended, Inside, assert_clear, environment
from fixtures.tiny_project import RULES, tree, write_server

COMPILE = ("compile", "--locked", "-q")
SAVED = (*COMPILE, "--saved-tools")
Spoil = Callable[[Any], None]


def assert_refused(project: Path, command: Callable[[], Ended], code: int, error: str) -> Ended:
    """Run a command that must fail clearly; everything in the project stays as it is."""
    before = tree(project)
    ended = command()
    assert_clear(ended, code, error)
    assert tree(project) == before
    return ended


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (None, "IC1002", "--> constitution.md"),
        (b"", "IC1002", "is empty"),
        (b" \n\t\n", "IC1002", "is empty"),
        (b"One.\n\nTwo \xff.\n", "IC1002", "--> constitution.md:3"),
        (b"x" * (10 << 20), "IC1002", "1,048,576 bytes (10,485,760)"),
        (b"# Heading only\n", "IC1002", "no sentence"),
        (b"One\x00 rule.\n", None, ""),
    ],
)
def test_a_constitution_that_is_none(
    content: bytes | None, error: str | None, said: str, project: Path, inside: Inside
) -> None:
    (project / "constitution.md").unlink()
    if content is not None:
        (project / "constitution.md").write_bytes(content)
    expected = (2, error) if error else (3, "IC3302")  # another text is another question
    ended = assert_refused(project, lambda: inside(*SAVED, cwd=project), *expected)
    assert said in ended.err


def test_a_changed_constitution_names_the_missing_question(project: Path, inside: Inside) -> None:
    path = project / "constitution.md"
    path.write_text(path.read_text().replace("may be read", "may be read by all"))
    ended = assert_refused(project, lambda: inside(*SAVED, cwd=project), 3, "IC3302")
    assert "no answer is kept for rules-notes (the rules of notes" in ended.err


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("dies", "cannot open the database"),
        ("not-mcp", "the server failed"),
    ],
)
def test_a_server_that_fails(mode: str, said: str, project: Path, inside: Inside) -> None:
    write_server(project, mode)
    ended = assert_refused(project, lambda: inside(*COMPILE, cwd=project), 3, "IC3201")
    assert said in ended.err
    assert "\x1b" not in ended.err
    assert "  --> notes" in ended.err


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("bad-schema", 'note: server notes: the tool "broken" is left out'),
        ("bad-name", r'note: server notes: the tool "read\u202enote" is left out'),
    ],
)
def test_a_tool_that_is_none_costs_itself(mode: str, said: str, project: Path, inside: Inside) -> None:
    """The scenarios speak of tools that such a server does not list."""
    write_server(project, mode)
    ended = assert_refused(project, lambda: inside("compile", "--locked", cwd=project), 2, "IC1301")
    assert said in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.parametrize(
    ("server", "code", "error"),
    [
        ({"command": "no-such-program", "sandbox": False}, 3, "IC3201"),
        ({"command": "/", "sandbox": False}, 3, "IC3201"),
        ({"command": "true", "sandbox": False}, 3, "IC3201"),
        ({"command": "true", "cwd": "nowhere", "sandbox": False}, 3, "IC3201"),
        ({"url": "https://example.com/mcp"}, 2, "IC1005"),
        ({"comand": "true"}, 2, "IC1003"),
        ({"command": 7}, 2, "IC1003"),
    ],
)
def test_a_server_that_does_not_start(
    server: dict[str, Any], code: int, error: str, project: Path, inside: Inside
) -> None:
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
    assert_refused(project, lambda: inside(*COMPILE, cwd=project), code, error)


def first(content: Any) -> Any:
    return content["rules"][0]


def condition(**change: Any) -> Spoil:
    return lambda content: first(content)["if"]["paths"][0].update(change)


SPOILT: dict[str, tuple[Spoil, str]] = {
    "unknown role": (condition(roles=["read-pth"]), "read-pth"),
    "unknown tool": (lambda content: first(content)["if"].update(tool=["rm"]), "rm"),
    "duplicate rule": (lambda content: content["rules"].append(first(content)), "notes-allow-read"),
    "relative directory": (condition(within=["notes"]), "notes"),
    "no condition": (lambda content: first(content).update({"if": {}}), "no condition"),
    "empty condition": (lambda content: first(content)["if"].update(tool=[]), '"tool" is empty'),
    "no paths": (lambda content: first(content)["if"].update(paths=[]), '"paths" is empty'),
    "no directory": (condition(within=[]), "paths"),
    "unknown clause": (lambda content: first(content).update(clause="C99"), "C99"),
    "unknown verdict": (lambda content: first(content).update(then="permit"), "permit"),
    "unknown key": (lambda content: first(content).update(unless={}), "unless"),
    "no object": (lambda content: content.update(rules="all"), "rules"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_an_answer_that_is_none(name: str, project: Path, inside: Inside) -> None:
    spoil, said = SPOILT[name]
    path = next((project / "generated" / "answers").glob("rules-*.json"))
    kept = json.loads(path.read_text())
    spoil(kept["content"])
    path.write_text(json.dumps(kept))
    ended = assert_refused(project, lambda: inside(*SAVED, cwd=project), 4, "IC4002")
    assert said in ended.err
    assert f"--> generated/answers/{path.name}" in ended.err


def test_all_mistakes_of_an_answer_at_once(project: Path, inside: Inside) -> None:
    path = next((project / "generated" / "answers").glob("rules-*.json"))
    kept = json.loads(path.read_text())
    kept["content"]["rules"] = [copy.deepcopy(RULES["rules"][0]) for _ in range(3)]
    for number, rule in enumerate(kept["content"]["rules"]):
        rule["name"] = f"notes-rule-{number}"
        rule["if"]["paths"][0]["within"] = [f"relative-{number}"]
    path.write_text(json.dumps(kept))
    ended = assert_refused(project, lambda: inside(*SAVED, cwd=project), 4, "IC4002")
    assert all(f"relative-{number}" in ended.err for number in range(3))


def test_all_mistakes_of_a_file_at_once_with_their_places(project: Path, inside: Inside) -> None:
    text = (project / "scenarios.yaml").read_text()
    text = text.replace("expect: allow", "expect: alow").replace("expect: deny", "expct: deny")
    (project / "scenarios.yaml").write_text(text)
    ended = assert_refused(project, lambda: inside(*SAVED, cwd=project), 2, "IC1003")
    assert len(ended.codes) >= 3
    wrong = [number for number, line in enumerate(text.splitlines(), 1) if "alow" in line or "expct" in line]
    assert len(wrong) == 3
    for line in wrong:
        assert f"--> scenarios.yaml:{line}:" in ended.err
        assert f"   | {text.splitlines()[line - 1]}\n" in ended.err


def test_a_setting_that_does_not_exist(project: Path, inside: Inside) -> None:
    (project / "ironcurtain.toml").write_text('modle = "manual"\nserial = -1\n')
    ended = assert_refused(project, lambda: inside(*SAVED, cwd=project), 2, "IC1003")
    assert "--> ironcurtain.toml:1" in ended.err
    assert 'Did you mean "model"?' in ended.err
    assert "--> ironcurtain.toml:2" in ended.err


@pytest.mark.parametrize("target", ["generated", ".generated.lock"])
def test_an_output_that_cannot_be_written(target: str, project: Path, inside: Inside) -> None:
    (project / "elsewhere").mkdir()
    (project / "elsewhere" / ".generated.lock").touch()
    place = project / "elsewhere" / target
    if target == "generated":
        place.write_text("a file")
    else:
        place.unlink()
        place.mkdir()
    assert_refused(
        project, lambda: inside(*SAVED, "--output", "elsewhere/generated", cwd=project), 3, "IC3401"
    )


def test_somebodys_work_in_the_output_is_not_removed(project: Path, inside: Inside) -> None:
    (project / "generated" / "notes.txt").write_text("mine")
    assert_refused(project, lambda: inside(*SAVED, cwd=project), 3, "IC3401")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 256 KiB: room for the lock, not for the result."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a full disk: no right to mount one")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_while_publishing(small_disk: Path, project: Path, inside: Inside) -> None:
    output = small_disk / "generated"
    (output / "answers").mkdir(parents=True)
    for path in (project / "generated" / "answers").iterdir():
        (output / "answers" / path.name).write_bytes(path.read_bytes())
    (output / "bundle.tar.gz").write_bytes(b"x" * (200 << 10))
    before = tree(small_disk)
    command = (*SAVED, "--output", str(output))
    ended = assert_refused(project, lambda: inside(*command, cwd=project), 3, "IC3401")
    assert "No space left" in ended.err
    assert {name: data for name, data in tree(small_disk).items() if not name.endswith(".lock")} == before


@pytest.mark.parametrize(
    ("command", "first"), [(("init",), "constitution.md"), (("schema", "--write"), "advice.json")]
)
def test_a_full_disk_is_told_with_the_file_that_it_has_no_room_for(
    small_disk: Path, inside: Inside, command: tuple[str, ...], first: str
) -> None:
    (small_disk / "other").write_bytes(b"x" * (256 << 10))
    ended = inside(*command, str(small_disk / "policy"), cwd=small_disk)
    assert ended.code == 3
    told = ended.err.splitlines()
    assert told[0] == "error[IC3403]: No space left on device"
    assert told[1] == f"  --> policy/{first}"


def test_a_full_disk_for_what_is_printed(project: Path) -> None:
    (project / "mcp-servers.json").write_text('{"mcpServers": {"notes": {"tools": "tools.json"}}}')
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    ended = subprocess.run(
        ["sh", "-c", '"$@" > /dev/full', "sh", *PROGRAM, "tools", "notes"],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 3
    assert "error[IC3403]: No space left on device" in ended.stderr.splitlines()


def test_two_compiles_at_once_in_one_directory(project: Path, inside: Inside) -> None:
    before = tree(project / "generated")
    running = [
        subprocess.Popen(
            [*PROGRAM, *SAVED], cwd=project, env=environment(), stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    ended = [(each.communicate(timeout=300)[1], each.returncode) for each in running]
    assert 0 in {code for _, code in ended}
    assert all(code == 0 or (code == 3 and "error[IC3402]" in said) for said, code in ended)
    assert tree(project / "generated") == before
    assert inside(*SAVED, cwd=project) == Ended(0, "", "")


def test_quiet_and_json(project: Path, inside: Inside) -> None:
    assert inside(*SAVED, cwd=project) == Ended(0, "", "")
    ended = inside(*SAVED, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == json.loads((project / "generated" / "verification.json").read_text())
    assert not (project / "questions").exists()
