"""What a process that is started for one approved call reaches: as usual, and what that call names."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.urls import parse_fetch_url
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.sandbox.limits import Mounts, SandboxLimits, widened
from ironcurtain.enforcement.sandbox.profile import SandboxInputs, build_profile
from ironcurtain.enforcement.sandbox.reach.reach import Places, Reach
from ironcurtain.servers.config_model import Server
from ironcurtain.system.structs import replace

ROLES = Registry(())


class Home:
    """A server that reads and writes `~/open`, and anything else of the home when it is approved."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        for name in ("open/private", "notes/deep", "other"):
            (self.home / name).mkdir(parents=True)
        for name in (
            "open/file",
            "open/private/file",
            "notes/one",
            "notes/two",
            "notes/deep/file",
            "other/file",
        ):
            (self.home / name).write_text("text")
        private = ("~/open/private",)
        opened = Places(("~/open",), never=private)
        self.grounds = SandboxInputs(
            home=self.home,
            workspace=None,
            own=(),
            protected=(),
            directory=root,
            reaches={"files": Reach(opened, opened)},
            asked={
                "files": Reach(
                    Places((), anywhere=True),
                    Places((), anywhere=True),
                    domains=("example.com", "example.net"),
                )
            },
        )
        self.limits = SandboxLimits(self.mounts(self.grounds), self.mounts(self.grounds.when_asked()))

    def mounts(self, grounds: SandboxInputs) -> Mounts:
        return Mounts.of(build_profile("files", Server(command="sh"), grounds))

    def subject(self, role: str, name: str) -> Resource:
        path = str(self.home / name)
        return Resource("0", ROLES[role], path, "/path", resource=path)

    def widened(self, *subjects: Resource) -> Mounts:
        return self.mounts(widened("files", self.grounds, subjects, self.limits))

    def changed(self, mounts: Mounts) -> set[str]:
        """Return the files that can be read or written and could not be before."""
        files = [path for path in self.home.rglob("*") if path.is_file()]
        usual = self.limits.usual
        return {
            f"{what} {path.relative_to(self.home)}"
            for path in files
            for what, now, before in (
                ("read", mounts.can_read(str(path)), usual.can_read(str(path))),
                ("write", mounts.can_write(str(path)), usual.can_write(str(path))),
            )
            if now and not before
        }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


@pytest.mark.parametrize(
    ("role", "name", "more"),
    [
        ("read-path", "notes/one", {"read notes/one"}),
        ("read-path", "notes/deep", {"read notes/deep/file"}),
        ("read-path", "open/private/file", {"read open/private/file"}),
        ("write-path", "notes/one", {"read notes/one", "write notes/one"}),
        ("write-path", "notes/made", set()),
        ("delete-path", "notes/deep", {"read notes/deep/file", "write notes/deep/file"}),
        ("write-path", "open/private/file", {"read open/private/file", "write open/private/file"}),
    ],
)
def test_what_a_call_names_is_open_and_nothing_beside(
    home: Home, role: str, name: str, more: set[str]
) -> None:
    subject = home.subject(role, name)
    assert home.limits.is_apart([subject])
    mounts = home.widened(subject)
    assert home.changed(mounts) == more
    assert not SandboxLimits(mounts, mounts).is_apart([subject])
    assert mounts.can_write(subject.value) == (role != "read-path")


def test_a_whole_tree_with_something_that_needs_approval_in_it(home: Home) -> None:
    looked_at = home.subject("read-path", "open")
    assert not home.limits.is_apart([looked_at])
    tree = looked_at._replace(recursive=True)
    assert home.limits.is_apart([tree])
    assert home.changed(home.widened(tree)) == {"read open/private/file"}


def test_a_change_of_a_repository_that_only_approvals_permit(home: Home) -> None:
    """It lies where the server writes anyway, with a `.git` that is closed to the server that runs."""
    git = home.home / "open" / ".git"
    git.mkdir()
    for name in ("HEAD", "config", "index"):
        (git / name).write_text("")
    (asked,) = home.grounds.asked.values()
    home.grounds = replace(home.grounds, asked={"files": replace(asked, repositories=True)})
    home.limits = SandboxLimits(home.mounts(home.grounds), home.mounts(home.grounds.when_asked()))
    assert not home.limits.usual.can_write(str(git / "index"))
    assert not home.limits.is_apart([home.subject("write-path", "open/file")])
    repository = home.subject("write-path", "open")
    assert home.limits.is_apart([repository])
    mounts = home.widened(repository)
    assert mounts.can_write(str(git / "index"))
    assert not mounts.can_write(str(git / "config"))


def test_the_home_itself_opens_the_home_alone(home: Home) -> None:
    (home.home / ".ssh").mkdir()
    (home.home / ".ssh" / "id").write_text("a key")
    mounts = home.widened(home.subject("read-path", "."))
    assert "read notes/one" in home.changed(mounts)
    assert "read .ssh/id" not in home.changed(mounts)
    assert not mounts.can_write(str(home.home / "notes" / "one"))


def test_a_file_is_replaced_by_way_of_its_directory(home: Home) -> None:
    mounts = home.widened(home.subject("write-path", "notes/one"))
    assert mounts.mount_of(str(home.home / "notes" / "one")) == str(home.home / "notes")


def test_more_entries_beside_than_are_kept_closed(home: Home) -> None:
    for number in range(100):
        (home.home / "other" / str(number)).write_text("text")
    named = home.subject("write-path", "other/file")
    assert home.changed(home.widened(named)) == {"read other/file", "write other/file"}
    (home.home / "other" / "more").write_text("text")
    assert len(home.changed(home.widened(named))) == 2 * 102


def test_what_the_server_reaches_needs_no_process_of_its_own(home: Home) -> None:
    assert not home.limits.is_apart([home.subject("write-path", "open/file")])
    assert not home.limits.is_apart([home.subject("write-path", ".bashrc")]), "nothing opens it"


def test_a_path_that_leads_elsewhere_by_now_opens_nothing(home: Home) -> None:
    named = home.subject("read-path", "notes/one")
    (home.home / "notes" / "one").unlink()
    (home.home / "notes" / "one").symlink_to(home.home / "other" / "file")
    assert home.changed(home.widened(named)) == set()


def test_hosts_are_opened_one_by_one(home: Home) -> None:
    url = parse_fetch_url("https://example.com/a")
    named = Resource("0", ROLES["fetch-url"], url.text, "/url", resource=url)
    assert home.limits.is_apart([named])
    mounts = home.widened(named)
    assert (mounts.can_contact("example.com", 443), mounts.can_contact("example.net", 443)) == (True, False)
