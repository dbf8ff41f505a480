"""Attack: write a path so that its text looks as if it stayed where it does not.

Held by: one canonical form of paths.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ironcurtain.decision.canonical.paths import Resolver, is_within
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError


def resolver(home: Path) -> Resolver:
    return Resolver(ThisHost(home=str(home)), home=str(home))


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    (tmp_path / "sandbox" / "dir").mkdir(parents=True)
    (tmp_path / "sandbox" / "file").touch()
    (tmp_path / "secret").touch()
    return tmp_path / "sandbox"


@pytest.mark.parametrize(
    "text",
    [
        "../secret",
        "./../secret",
        "dir/../../secret",
        "dir//..//..//secret",
        "dir/./.././../secret/",
        "missing/../../secret",
        "missing/deeper/../../../secret",
        "file/../../secret",
        "../sandbox/../secret/.",
        "../../{top}/secret",
        "{sandbox}/../secret",
        "//{sandbox}/../secret",
        "{sandbox}/../../../../../../../../../..{parent}/secret",
        "~/../secret",
        "~/./../sandbox/../secret",
    ],
)
def test_every_spelling_of_the_way_out_is_the_place_outside(text: str, sandbox: Path) -> None:
    parent = sandbox.parent
    written = text.format(sandbox=sandbox, parent=parent, top=parent.name)
    assert resolver(sandbox).resolve(written, str(sandbox)) == str(parent / "secret")


@pytest.mark.parametrize(
    "text",
    [
        "..%2fsecret",
        "%2e%2e/secret",
        "..\\secret",
        "\uff0e\uff0e/secret",
        "..\uff0fsecret",
        "..;/secret",
        "....//secret",
    ],
)
def test_what_only_looks_like_a_way_out_is_a_name_inside(text: str, sandbox: Path) -> None:
    real = resolver(sandbox).resolve(text, str(sandbox))
    assert is_within(real, str(sandbox))
    assert not Path(real).exists()


@pytest.mark.parametrize(
    "text",
    [
        "file:///etc/passwd",
        "file:/etc/passwd",
        "FILE://localhost/etc/passwd",
        "\tfile:///etc/passwd",
        "~root/.ssh/id_rsa",
        "~+/x",
        "~-",
        "dir/\x00/../../secret",
        "/etc/passwd\x00.txt",
        "dir/\r/x",
        "\x1b]0;title\x07",
        "dir/\udcff",
        "/" + "../" * 1400 + "etc/passwd",
        "dir/../" * 65 + "secret",
    ],
)
def test_forms_that_some_programs_read_in_another_way_are_refused(text: str, sandbox: Path) -> None:
    with pytest.raises(UnrepresentableError):
        resolver(sandbox).resolve(text, str(sandbox))


@pytest.mark.parametrize(
    "sibling", ["sandbox-evil", "sandboxx", "sandbox.", "sandbox ", "Sandbox2", "sandbox\u200b"]
)
def test_a_sibling_with_the_same_beginning_is_not_inside(sibling: str, sandbox: Path) -> None:
    real = resolver(sandbox).resolve(f"{sandbox.parent}/{sibling}/x", None)
    assert real == f"{sandbox.parent}/{sibling}/x"
    assert not is_within(real, str(sandbox))
