"""Attack: hide a way out behind a directory that we may not look into.

Held by: deny where the kernel does not let us look.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = """
import json, os, sys
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
if os.geteuid() == 0:
    os.seteuid(65534)
answers = []
for text in json.loads(sys.argv[1]):
    try:
        answers.append(Resolver(ThisHost(home="/"), home="/").resolve(text, None))
    except UnrepresentableError as refusal:
        answers.append(refusal.reason)
print(json.dumps(answers))
"""
REFUSED = "leads through a place that cannot be read"


def resolve_without_privileges(texts: list[str]) -> list[str]:
    command = [sys.executable, "-c", SCRIPT, json.dumps(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answers: list[str] = json.loads(done.stdout)
    return answers


@pytest.fixture
def top() -> Iterator[Path]:
    # pytest's own directories are closed to the user that the other process becomes.
    with tempfile.TemporaryDirectory() as made:
        top = Path(os.path.realpath(made))
        top.chmod(0o755)
        for name in ("closed", "searchable"):
            (top / name).mkdir()
            (top / name / "file").touch()
            (top / name / "out").symlink_to("/etc")
        (top / "way").symlink_to("closed/out")
        (top / "closed").chmod(0o000)
        (top / "searchable").chmod(0o311)
        yield top
        for name in ("closed", "searchable"):
            (top / name).chmod(0o755)


def test_what_lies_in_a_closed_directory_is_refused(top: Path) -> None:
    texts = [
        f"{top}/{tail}"
        for tail in ("closed/file", "closed/out/passwd", "closed/missing/x", "way", "way/passwd")
    ]
    assert resolve_without_privileges(texts) == [REFUSED] * len(texts)


def test_the_closed_directory_itself_has_a_real_path(top: Path) -> None:
    assert resolve_without_privileges([f"{top}/closed", f"{top}/closed/.."]) == [f"{top}/closed", str(top)]


def test_a_directory_that_may_be_entered_but_not_listed_is_enough(top: Path) -> None:
    texts = [f"{top}/searchable/{tail}" for tail in ("file", "out/passwd", "new")]
    assert resolve_without_privileges(texts) == [texts[0], "/etc/passwd", texts[2]]


def test_a_name_whose_equivalents_cannot_be_looked_for_is_refused(top: Path) -> None:
    assert resolve_without_privileges([f"{top}/searchable/caf\u00e9"]) == [REFUSED]
