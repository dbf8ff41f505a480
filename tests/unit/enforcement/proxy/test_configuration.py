"""What a proxy is configured by is refused where somebody else could change it."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from e2e.program import assert_clear, program
from support.projects.policies import rule, tool, write_bundle, write_servers

from ironcurtain.enforcement.proxy.configuration import load_own
from ironcurtain.errors import FileError
from ironcurtain.policy import Policy
from ironcurtain.system.ownership import check_all_own, check_own, check_own_bundle, others_can_write

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "place" / "file"
    made.parent.mkdir(mode=0o700)
    made.write_text("{}")
    made.chmod(0o644)
    return made


def _link(file: Path) -> Path:
    place = file.parent.parent / "open"
    place.mkdir(mode=0o700)
    place.chmod(0o777)
    (place / "link").symlink_to(file)
    return place / "link"


def _give(path: Path, *, user: int = -1, group: int = -1, mode: int = 0o664) -> Path:
    os.chown(path, user, group)
    path.chmod(mode)
    return path


REFUSED: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "all can write it": (
        lambda file: file.chmod(0o646),
        "others can write the file (mode 0646)",
        "chmod go-w",
    ),
    "all can replace it": (
        lambda file: file.parent.chmod(0o777),
        "others can write the directory of the file (mode 0777)",
        "chmod go-w",
    ),
    "all can replace the link to it": (
        _link,
        "others can write the directory of the file (mode 0777)",
        "chmod go-w",
    ),
}
GIVEN_AWAY: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "it is another's": (lambda file: _give(file, user=NOBODY), "belongs to another user (id 65534)", "chown"),
    "its directory is another's": (
        lambda file: _give(file.parent, user=NOBODY, mode=0o755),
        "the directory of the file belongs to another user",
        "chown",
    ),
    "a group of others can write it": (lambda file: _give(file, group=1), "others can write", "chmod go-w"),
    "an unknown group can write it": (
        lambda file: _give(file, group=54321),
        "others can write",
        "chmod go-w",
    ),
}


@pytest.mark.parametrize("how", [*REFUSED, *(pytest.param(how, marks=as_root, id=how) for how in GIVEN_AWAY)])
def test_what_others_can_change_is_refused(file: Path, how: str) -> None:
    spoil, what, hint = {**REFUSED, **GIVEN_AWAY}[how]
    check_own(file, "the file")
    path = spoil(file)
    with pytest.raises(FileError) as error:
        check_own(path if isinstance(path, Path) and path.is_symlink() else file, "the file")
    assert what in error.value.what
    assert hint in (error.value.hint or "")


def test_a_sticky_directory_is_no_danger(file: Path) -> None:
    file.parent.chmod(0o1777)
    check_own(file, "the file")


@as_root
def test_a_group_of_nobody_else_is_no_other(file: Path) -> None:
    """As after a clone under umask 002; `daemon` is alone in the group of its name on every Linux."""
    assert not others_can_write(_give(file, user=1, group=1).stat())
    assert others_can_write(_give(file, user=2, group=1).stat())


def test_a_place_that_is_fine_around_a_file_need_not_be_fine_itself(file: Path) -> None:
    file.parent.chmod(0o1777)
    check_all_own([(file, "the file"), (file, "the file")])
    with pytest.raises(FileError, match="others can write the directory itself"):
        check_all_own([(file, "the file"), (file.parent, "the directory itself")])


@as_root
def test_the_users_are_read_once_for_a_bundle_of_many_files(file: Path) -> None:
    """A directory service may need seconds for that; as after a clone under umask 002."""
    for name in ("1", "2", "3"):
        file.with_name(name).write_text("{}")
        _give(file.with_name(name))
    read = 0

    def count(_: object, event: str, called: object) -> None:
        nonlocal read
        read += event == "c_call" and called is pwd.getpwall

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        check_own_bundle(file.parent)
    finally:
        sys.setprofile(before)
    assert read == 1


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    write_bundle(tmp_path, {"s": [tool("t")]}, [rule("all", "allow", tool=["t"])])
    write_servers(tmp_path, {"s": {"command": "true", "sandbox": False}})
    return tmp_path


def test_a_bundle_that_is_vouched_for_may_lie_anywhere(project: Path) -> None:
    bundle = project / "bundle.tar.gz"
    bundle.chmod(0o666)
    policy = Policy.load(bundle)
    with pytest.raises(FileError, match="others can write the bundle"):
        load_own(lambda: policy, bundle)
    pinned = Policy.load(bundle, expect_revision=policy.revision)
    assert load_own(lambda: pinned, bundle) is pinned


def test_the_proxy_does_not_start(project: Path) -> None:
    servers = next(project.glob("*servers*.json"))
    given = ["--bundle", str(project / "bundle.tar.gz"), "--servers", str(servers), "--session", "test"]
    servers.chmod(0o666)
    refused = program("proxy", *given, HOME=str(project / "home"))
    assert_clear(refused, 2, "IC1002")
    assert "others can write the servers' file (mode 0666)" in refused.err
    assert f"Run `chmod go-w {servers}`." in refused.err
    servers.chmod(0o644)
    logs = project / "home" / ".ironcurtain" / "audit"
    logs.mkdir(parents=True)
    logs.chmod(0o777)
    refused = program("proxy", *given, HOME=str(project / "home"), IRONCURTAIN_HOME="")
    assert f"Run `chmod 700 {logs}`." in refused.err
    assert refused.code == 3
