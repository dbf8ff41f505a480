"""Transcripts of what people type: written by the test that makes them, and compared with it ever after.

Four are documentation, `PAGES`; the others are kept beside tests.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from difflib import unified_diff
from pathlib import Path

import pytest

from support.projects.modelled import Modelled

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "transcripts"
SNAPSHOTS = ROOT / "tests" / "e2e" / "transcripts"
WRITE = "IRONCURTAIN_WRITE_TRANSCRIPTS"
_CHANGING = (
    (re.compile(r"\(\d+\.\d s\)"), "(… s)"),
    (re.compile(r"[0-9a-f]{64}"), "…"),
    (re.compile(r"(manifest|opa test)(:?) \d+"), r"\1\2 …"),
    (re.compile(r"\d+ files\b"), "… files"),
    (re.compile(r'("opa check, opa test"): \d+'), r"\1: …"),
    (re.compile(r"-[0-9a-f]{12}\.json"), "-….json"),
)


class Transcript:
    """Collects what was done and shown; what differs from run to run (times, digests) is left out.

    Args:
        name: The name of its file, without `.md`.
        title: Its heading.
        said: The first paragraph.
        place: The directory of its file.
    """

    def __init__(self, name: str, title: str, said: str, place: Path = SNAPSHOTS) -> None:
        self._path = place / f"{name}.md"
        self._parts = [f"# {title}\n\n{said}\n"]

    def say(self, heading: str, text: str = "") -> None:
        self._parts.append(f"## {heading}\n" + (f"\n{text}\n" if text else ""))

    def remark(self, text: str) -> None:
        """Say something within a part."""
        self._parts.append(f"{text}\n")

    def show(self, text: str, kind: str = "text") -> None:
        self._parts.append(f"```{kind}\n{settled(text).rstrip()}\n```\n")

    def ran(self, project: Modelled, *arguments: str, ends: int) -> None:
        """Run a command and show it with all that it printed, its exit code and the calls that it made."""
        project.model.requests.clear()
        result = project.run(arguments[0], *arguments[1:])
        shown = f"$ ironcurtain {' '.join(arguments)}\n{result.out}{result.err}".rstrip()
        assert result.code == ends, shown
        calls = len(project.model.requests)
        shown = f"{shown}\n[exit {ends}, {calls} {'call' if calls == 1 else 'calls'} of the model]"
        self.show(shown.replace(str(project.directory), "PROJECT"), "console")

    def check(self, without: Iterable[str] = ()) -> None:
        """Compare the transcript with the one of before, or write it where that is asked for.

        Args:
            without: Headings of the sections that this machine could not run: they are not compared.
        """
        text = "\n".join(self._parts)
        if os.environ.get(WRITE) and not without:
            self._path.write_text(text, encoding="utf-8")
        expected = self._path.read_text(encoding="utf-8")
        for heading in without:
            expected = re.sub(rf"(?ms)^## {re.escape(heading)}\n.*?(?=^## |\Z)", "", expected)
        if text != expected:
            lines = unified_diff(expected.splitlines(), text.splitlines(), "before", "seen", lineterm="")
            pytest.fail(
                "\n".join([*lines, f"where this is right, run the test with {WRITE}=1"]), pytrace=False
            )


def settled(text: str) -> str:
    """Return a text without what differs from run to run."""
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    return text


def difference(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterable[str]:
    """Yield the lines of a diff of two trees: what came, what went, and how texts changed."""
    names = {name: settled(name) for name in sorted(before.keys() | after.keys())}
    for name, shown in names.items():
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if old is None or new is None:
            yield f"{'new' if old is None else 'gone'}: {shown}"
        elif name.endswith(".gz"):
            yield f"changed: {shown}"
        else:
            before_it, after_it = (settled(text.decode()).splitlines() for text in (old, new))
            yield from unified_diff(before_it, after_it, f"a/{shown}", f"b/{shown}", lineterm="", n=1)
