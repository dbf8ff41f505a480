"""The page that follows one clause through every file says what the files say."""

from __future__ import annotations

import re
import shlex
import subprocess
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "one-clause.md").read_text(encoding="utf-8")
EXCERPTS = re.findall(r"^\[([^]]+)\]\(\.\./\1\):\n\n```\w+\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"```console\n\$ (ironcurtain [^\n]+)\n(.*?)```", re.DOTALL)


def unindented(text: str) -> str:
    return "".join(line.strip() + "\n" for line in textwrap.dedent(text).splitlines())


def test_every_stage_has_its_excerpt() -> None:
    assert len(EXCERPTS) == 10


@pytest.mark.parametrize(("path", "text"), EXCERPTS, ids=[path for path, _ in EXCERPTS])
def test_an_excerpt_is_text_of_its_file(path: str, text: str) -> None:
    assert unindented(text).rstrip() in unindented((ROOT / path).read_text(encoding="utf-8"))


def test_the_decision_is_what_the_command_prints(tmp_path: Path) -> None:
    [(command, printed)] = COMMAND.findall(PAGE)
    arguments = shlex.split(command.replace("--sandbox work", f"--sandbox {tmp_path}"))
    result = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout == printed
