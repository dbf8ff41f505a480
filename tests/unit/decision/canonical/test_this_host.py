"""The world as the kernel tells it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ironcurtain.decision.canonical.host_view import FileKind, UnreadableError
from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError

WORLD = ThisHost(home="/nowhere")


def test_entry_tells_kind_identity_links_and_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "twin").hardlink_to(tmp_path / "file")
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    names = ["file", "twin", "link", "fifo", "", "missing", "file/below"]
    found = {name: WORLD.entry(str(tmp_path / name)) for name in names}
    kinds = {name: entry and entry.kind for name, entry in found.items()}
    assert kinds == {
        "file": FileKind.FILE,
        "twin": FileKind.FILE,
        "link": FileKind.SYMLINK,
        "fifo": FileKind.OTHER,
        "": FileKind.DIRECTORY,
        "missing": None,
        "file/below": None,
    }
    file, twin = found["file"], found["twin"]
    assert file is not None
    assert twin is not None
    assert (file.identity, file.links, file.name) == (twin.identity, 2, "file")
    assert twin.name == "twin"


def test_the_root_has_an_entry() -> None:
    root = WORLD.entry("/")
    assert root is not None
    assert (root.kind, root.name) == (FileKind.DIRECTORY, "")


def test_children_are_sorted_and_keep_names_that_are_no_utf_8(tmp_path: Path) -> None:
    for name in (b"b", b"a", b"caf\xe9"):
        (tmp_path / os.fsdecode(name)).touch()
    assert WORLD.children(str(tmp_path)) == ["a", "b", "caf\udce9"]


@pytest.mark.parametrize("name", ["file", "missing"])
def test_what_is_no_directory_cannot_be_listed(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnreadableError):
        WORLD.children(str(tmp_path / name))


def test_what_is_no_symlink_cannot_be_read_as_one(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        WORLD.readlink(str(tmp_path))


def test_a_name_that_is_too_long_for_the_file_system_cannot_be_told(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError):
        WORLD.entry(str(tmp_path / ("n" * 256)))


def test_symlink_targets_are_told_byte_by_byte(tmp_path: Path) -> None:
    for name, target in [("odd", "caf\udce9"), ("slashes", "/a//b/./"), ("dots", "../x")]:
        (tmp_path / name).symlink_to(target)
    told = [WORLD.readlink(str(tmp_path / name)) for name in ("odd", "slashes", "dots")]
    assert told == ["caf\udce9", "/a//b/./", "../x"]


def test_a_symlink_to_a_name_that_is_no_utf_8_is_unrepresentable(tmp_path: Path) -> None:
    (tmp_path / "odd").symlink_to("caf\udce9")
    (tmp_path / "caf\udce9").mkdir()
    resolver = Resolver(WORLD, home="/nowhere")
    with pytest.raises(UnrepresentableError, match="UTF-8"):
        resolver.resolve(str(tmp_path / "odd" / "x"), None)
    assert resolver.resolve(str(tmp_path / "odd" / ".."), None) == str(tmp_path)


def test_a_second_spelling_that_is_a_hard_link_keeps_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "Name").touch()
    (tmp_path / "nAME").hardlink_to(tmp_path / "Name")
    (tmp_path / "Other").touch()
    (tmp_path / "oTHER").touch()
    names = ["Name", "nAME", "Other", "oTHER"]
    found = [WORLD.entry(str(tmp_path / name)) for name in names]
    assert [entry and entry.name for entry in found] == names


def test_names_are_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    (tmp_path / "é").touch()
    script = (
        "import sys; from ironcurtain.decision.canonical.this_host import ThisHost; "
        "print(ThisHost(home='/').entry(sys.argv[1] + '/\\u00e9') is not None)"
    )
    assert _run_in_latin_locale(script, str(tmp_path)) == "True"


def _run_in_latin_locale(script: str, argument: str) -> str:
    environ = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    command = [sys.executable, "-c", script, argument]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.strip()


class Another(ThisHost):
    """A host of another kind."""


def test_the_view_of_one_call_is_of_the_same_kind_and_leaves_the_host_as_it_was(tmp_path: Path) -> None:
    host = Another(home=str(tmp_path))
    view = host.for_one_call()
    assert type(view) is Another
    (tmp_path / "a").touch()
    assert view.entry(str(tmp_path / "a")) == host.entry(str(tmp_path / "a"))
