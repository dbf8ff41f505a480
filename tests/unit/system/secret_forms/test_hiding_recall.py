"""Print how many secrets of a corpus are hidden, and how much of ordinary text is taken for one."""

from __future__ import annotations

import base64
import random
import sys
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from support.records.secret_corpus import corpus

from ironcurtain.system.secret_forms.hiding import hide, without_secrets

ROOT = Path(__file__).parents[4]
UNTOLD = {"names: Dockerfile": 4, "places: Kubernetes": 1, "places: a remark": 1}
"""Forms of the corpus that are not hidden, and how many of each."""
FLOOD = 1 << 20


def test_secrets_of_the_corpus_are_hidden(capsys: pytest.CaptureFixture[str]) -> None:
    seen, missed = Counter[str](), Counter[str]()
    for kind, text, secret in corpus():
        shown = without_secrets(text)
        seen[kind] += 1
        missed[kind] += secret[-8:] in shown or secret[-12:-4] in shown
    with capsys.disabled():
        for group in ("tokens", "names", "places"):
            count = sum(number for kind, number in seen.items() if kind.startswith(group))
            hidden = count - sum(number for kind, number in missed.items() if kind.startswith(group))
            sys.stdout.write(f"\n{group}: {hidden} of {count} hidden")
    assert +missed == UNTOLD
    assert seen.total() == 3130


def _texts(pattern: str) -> list[str]:
    return [path.read_text() for path in sorted(ROOT.glob(pattern))]


def _drawn() -> list[str]:
    draw = random.Random(35)
    hashes = (f"{draw.getrandbits(160):040x} a commit" for _ in range(1000))
    digests = (f"sha256:{draw.getrandbits(256):064x}" for _ in range(1000))
    return [*hashes, *digests, *(str(uuid.UUID(int=draw.getrandbits(128))) for _ in range(1000))]


def _images() -> list[str]:
    pictures = (base64.b64encode(path.read_bytes()).decode() for path in sorted(ROOT.glob("docs/**/*.png")))
    return [text[at : at + 76] for text in pictures for at in range(0, len(text), 76)]


ORDINARY: dict[str, tuple[Callable[[], list[str]], float]] = {
    "pages of documentation": (lambda: _texts("docs/**/*.md"), 1),
    "programs": (lambda: _texts("ironcurtain/**/*.py"), 1.5),
    "rego": (lambda: _texts("rego/**/*.rego"), 0),
    "schemas": (lambda: _texts("schemas/*.json"), 0),
    "a lock file": (lambda: _texts("package-lock.json"), 4),
    "hashes and UUIDs": (_drawn, 4),
    "pictures in base64": (_images, 0),
}
"""Texts without secrets, and of how many of a thousand lines something may be hidden."""


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_text_is_left_alone(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts, most = ORDINARY[name]
    lines = [line for text in texts() for line in text.split("\n")]
    changed = sum(_is_changed(line) for line in lines)
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {changed} of {len(lines)} lines changed")
    assert lines
    assert changed * 1000 <= most * len(lines)


def _is_changed(line: str) -> bool:
    return hide(line, lambda _: "") != line


@pytest.mark.parametrize(
    "flood",
    [
        *("password=", 'password=" ', "password=${X} ", "--token is ", "-u a:", "mysql -p", 'name="token" '),
        *("machine x password ", "authorization: basic ", "-----BEGIN PRIVATE KEY-----", "secret_", "_KEY="),
        *(
            "x:5432:a:",
            "password>\n ",
            "é token ",
            "eyJ",
            "\\",
            '"',
            "a" * 1000 + " ",
            "mysql ",
            "$6$",
            "://",
        ),
        *(
            "- ",
            "--",
            "machine ",
            "ENV ",
            "name: ",
            'password: \\\\\\"',
            "A_",
            "password: |\n",
            "'password',",
        ),
    ],
)
@pytest.mark.timeout(120)
def test_a_mebibyte_of_beginnings_is_looked_through(flood: str) -> None:
    """What is not linear in the text would not end within the limit."""
    row = flood * (FLOOD // len(flood))
    assert "ghp_" not in without_secrets(f"{row} ghp_{'a1' * 18}")
