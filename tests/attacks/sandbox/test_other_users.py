"""Attack: another user of the machine puts a configuration of theirs in the place of ours.

Held by: owner, mode and access lists of everything on the way, before it is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.machines.access_lists import OTHER, access
from support.projects.policies import load, rule, tool, write_bundle, write_servers

from ironcurtain.enforcement.proxy.configuration import check_configuration, load_own
from ironcurtain.errors import FileError
from ironcurtain.system.ownership import check_own

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "grandparent" / "parent" / "mcp-servers.json"
    made.parent.mkdir(parents=True)
    made.write_text("{}")
    for place in (made, made.parent, made.parent.parent):
        place.chmod(0o700)
    check_own(made, "the file")
    return made


def _open(path: Path) -> None:
    path.chmod(0o777)


def _listed_user(path: Path) -> None:
    access(path, user=OTHER)


def _listed_group(path: Path) -> None:
    access(path, group=OTHER)


@pytest.mark.parametrize("spoil", [_open, _listed_user, _listed_group])
@pytest.mark.parametrize("above", [0, 1, 2])
def test_who_can_write_any_directory_on_the_way_can_replace_it(
    above: int, spoil: Callable[[Path], None], file: Path
) -> None:
    spoil((file, *file.parents)[above])
    with pytest.raises(FileError, match="others can write"):
        check_own(file, "the file")


def test_a_list_that_lets_only_read_is_no_danger(file: Path) -> None:
    access(file, user=OTHER, mask=0o5)
    check_own(file, "the file")


def test_a_list_that_names_ourselves_is_no_danger(file: Path) -> None:
    access(file, user=os.geteuid())
    check_own(file, "the file")


@as_root
def test_a_directory_far_above_that_is_anothers(file: Path) -> None:
    os.chown(file.parents[1], OTHER, -1)
    with pytest.raises(FileError, match="belongs to another user"):
        check_own(file, "the file")


@as_root
def test_a_link_of_anothers_in_a_shared_directory(file: Path, tmp_path: Path) -> None:
    """It leads to our file when it is looked at, and elsewhere when it is opened."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    link = shared / "link"
    link.symlink_to(file)
    check_own(link, "the file")
    os.lchown(link, OTHER, OTHER)
    with pytest.raises(FileError, match="belongs to another user"):
        check_own(link, "the file")


def test_every_link_on_the_way_counts(file: Path, tmp_path: Path) -> None:
    """Two links one behind the other: the second lies where others can write."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "second").symlink_to(file.parent)
    (tmp_path / "first").symlink_to("open/second")
    check_own(tmp_path / "first" / file.name, "the file")
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(FileError, match="others can write"):
        check_own(tmp_path / "first" / file.name, "the file")


def test_a_bundle_that_others_may_swap_is_looked_at_before_it_is_read(tmp_path: Path) -> None:
    """Swapped back when it has been read, it would look like ours afterwards."""
    (tmp_path / "home").mkdir()
    place = tmp_path / "place"
    place.mkdir()
    bundle = write_bundle(place, {"s": [tool("t")]}, [rule("all", "allow", tool=["t"])])
    servers = write_servers(tmp_path, {"s": {"command": "true", "sandbox": False}})
    place.chmod(0o777)

    def swap_back() -> object:
        policy = load(bundle, home=tmp_path / "home", servers=servers, engine="http://127.0.0.1:1")
        place.chmod(0o700)
        return policy

    with pytest.raises(FileError, match="others can write"):
        load_own(swap_back, bundle)  # type: ignore[arg-type]


def test_what_is_not_there_is_an_error_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileError) as error:
        check_configuration({"the servers' file": tmp_path / "gone.json"})
    assert "gone.json" in str(error.value.where)
