"""What commands print on real terminals: whole words, the outcome last, colours as somebody wants them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from e2e.program import PROGRAM, ROOT, environment, program
from support.people.terminal import in_terminal

from ironcurtain.cli.output.display import shown, wants_colour
from ironcurtain.system.text import counted

COLOURS = re.compile(r"\x1b\[[\d;]*m")
PROJECT = ("constitution.md", "scenarios.yaml", "ironcurtain.toml", "confirmations.yaml", "guarantees.yaml")
CALL = ("filesystem", "read_text_file", '{"path": "/etc/hosts"}')
COMMANDS: dict[str, tuple[list[str], int, str]] = {
    "verify": (["verify"], 0, r"verified sha256:[0-9a-f]{64}"),
    "decide": (["decide", "generated/bundle", *CALL], 4, r"to change it: A person's approval of this call\."),
    "lint": (["lint"], 0, r"\d+ clauses: 0 errors, 0 warnings, 0 notes"),
    "guarantees": (["guarantees"], 0, r"14 guarantees: 14 proved"),
    "diff": (["diff", "generated/bundle"], 0, r"ok difference: 0 loosened, 0 tightened"),
    "attack": (["attack", "--maximum", "3"], 0, r"not found: nothing .* a search, no proof"),
    "init": (["init", "new"], 0, r".*ironcurtain wrap --help.*"),
    "doctor": (["doctor", "--config", "new/none.toml"], 1, r"\d+ checks: .*\d+ failed, 1 not looked at"),
    "compile": (["compile", "--locked", "--saved-tools"], 0, r".*(?:publish|signed).*"),
    "error": (["error", "IC1009"], 0, r".*the pages for a browser"),
    "mistake": (["verfy"], 2, r"see: ironcurtain error IC1001"),
    "help": (["verify", "--help"], 0, r".*Show this message and exit\."),
}
"""By name: a command, how it ends, and the last thing that it says."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "generated", root / "generated")
    for name in (*PROJECT, "mcp-servers.json"):
        shutil.copy(ROOT / name, root)
    servers = json.loads((root / "mcp-servers.json").read_text())
    for name, server in servers["mcpServers"].items():
        server["tools"] = f"generated/tools/{name}.json"
    (root / "mcp-servers.json").write_text(json.dumps(servers))
    return root


def on_terminal(columns: int, cwd: Path, *command: str, **more: str) -> tuple[int, str]:
    own = environment(**{"NO_COLOR": "", "TERM": "xterm-256color", **more})
    return in_terminal([*PROGRAM, *command], cwd, own, columns=columns)


def drawn(text: str) -> str:
    """Return what a live table draws, without the sequences that draw it."""
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text.replace("\r", ""))


def is_whole(line: str) -> bool:
    """Tell whether a line that is too long could not have been broken: one word, or a command to copy."""
    return (
        len(line.split()) == 1
        or bool(re.match(r" *(ironcurtain|opa|pip|eval|cd) ", line))
        or line.endswith("\\")
    )


@pytest.mark.parametrize("columns", [50, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_line_fits_and_the_outcome_is_last(name: str, columns: int, project: Path) -> None:
    command, code, outcome = COMMANDS[name]
    ended, text = on_terminal(columns, project, *command, NO_COLOR="1")
    shutil.rmtree(project / "new", ignore_errors=True)
    # What a live table drew over is not there any more.
    text = "stage " + drawn(text).rpartition("stage ")[2] if name == "compile" else text
    assert ended == code, text
    assert not COLOURS.search(text)
    assert [line for line in text.splitlines() if len(line) > columns and not is_whole(line.strip())] == []
    assert re.search(rf"(?:^| )(?:{outcome})$", " ".join(text.split())), text


def test_words_are_those_that_a_pipe_gets(project: Path) -> None:
    piped = program("verify", cwd=project)
    _, narrow = on_terminal(50, project, "verify", NO_COLOR="1")
    assert narrow.split() == piped.out.split()


@pytest.mark.parametrize(
    ("options", "more", "coloured"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"TERM": "dumb"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
    ],
    ids=str,
)
def test_colours_on_a_terminal(
    options: list[str], more: dict[str, str], coloured: bool, project: Path
) -> None:
    _, text = on_terminal(80, project, *options, "lint", "nowhere.md", **more)
    assert bool(COLOURS.search(text)) == coloured
    assert COLOURS.sub("", text).startswith("error[IC1002]: the file does not exist\n")


@pytest.mark.parametrize(
    ("options", "more", "coloured"),
    [([], {}, False), ([], {"FORCE_COLOR": "1"}, True), (["--color", "always"], {}, True)],
    ids=str,
)
def test_colours_in_a_pipe(options: list[str], more: dict[str, str], coloured: bool, project: Path) -> None:
    ended = program(*options, "lint", "nowhere.md", cwd=project, **more)
    assert bool(COLOURS.search(ended.err)) == coloured
    assert "error[IC1002]" in COLOURS.sub("", ended.err)


def test_json_is_as_it_is_on_every_terminal(project: Path) -> None:
    _, text = on_terminal(50, project, "--color", "always", "lint", "--format", "json")
    assert text == program("lint", "--format", "json", cwd=project).out


@pytest.mark.parametrize(
    ("environ", "is_terminal", "wanted"),
    [
        ({"TERM": "xterm"}, True, True),
        ({"TERM": "xterm"}, False, False),
        ({"TERM": "xterm", "NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "0"}, False, False),
        ({}, True, False),
    ],
    ids=str,
)
def test_who_wants_colours(environ: dict[str, str], is_terminal: bool, wanted: bool) -> None:
    assert wants_colour("auto", environ, is_terminal=is_terminal) is wanted


def test_a_line_goes_on_below_where_its_text_began() -> None:
    line = "ok    coverage: 95.7 %: 291 of 304 cells, 22 of 22 rules"
    assert (
        shown(line, 32, coloured=False) == "ok    coverage: 95.7 %: 291 of\n      304 cells, 22 of 22 rules"
    )


def test_what_is_copied_is_not_broken() -> None:
    command = "  ironcurtain decide --bundle generated/bundle --sandbox work"
    assert shown(f"{command}  # decide a call and say why", 40, coloured=False).splitlines() == [
        "  # decide a call and say why",
        command,
    ]
    assert (
        shown(f"{command} \\\n    more of the same command, however long", 30, coloured=False).count("\n")
        == 1
    )
    told = shown("Then run `ironcurtain servers fetch` and compile again.", 40, coloured=False)
    assert "`ironcurtain servers fetch`" in told


def test_text_with_sequences_of_its_own_is_left_alone() -> None:
    text = "\x1b[1mok\x1b[0m    " + "word " * 30
    assert shown(text, 30, coloured=True) == text


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 scenarios"), (1, "1 scenario"), (2, "2 scenarios"), (1000, "1,000 scenarios")]
)
def test_one_and_many(number: int, said: str) -> None:
    assert counted(number, "scenario") == said


def test_one_clause_is_one(tmp_path: Path) -> None:
    (tmp_path / "constitution.md").write_text("# Rules\n\nThe agent may read recent mail.\n")
    ended = program("lint", cwd=tmp_path)
    assert ended.err.strip() == "1 clause: 0 errors, 1 warning, 0 notes"


def test_the_table_of_a_compile_fits_a_narrow_terminal(project: Path) -> None:
    _, text = on_terminal(50, project, "compile", "--locked", "--saved-tools", NO_COLOR="1")
    table = drawn(text).rpartition("stage ")[2].splitlines()
    assert [line for line in table if len(line) > 50] == []
    assert [line[:22].strip() for line in table if re.match(r"\d/8 ", line)][5] == "6/8 verify and repair"
    assert "scenarios" in " ".join(table).split()
