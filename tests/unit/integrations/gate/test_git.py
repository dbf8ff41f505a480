"""The bundle that a commit holds, from real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.projects import shipped

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.members import MAX_BYTES
from ironcurtain.errors import BundleIntegrityError, UsageError
from ironcurtain.integrations.gate.git import Commit


def git(directory: Path, *arguments: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        who |= {f"GIT_{role}_NAME": "A", f"GIT_{role}_EMAIL": "a@example.com"}
    done = subprocess.run(
        ["git", *arguments], cwd=directory, env={**clean, **who}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(root: Path) -> None:
    git(root, "add", "--all", "--force")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "x")


@pytest.fixture(scope="module")
def made() -> Bundle:
    return shipped.bundle()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "-b", "main", ".")
    return tmp_path


def read(root: Path, ref: str = "main", at: str = "generated/bundle") -> Bundle:
    return Commit.of(ref, root).bundle(root / at)


def test_a_directory_an_archive_and_the_archive_beside_a_directory_that_is_not_committed(
    root: Path, made: Bundle
) -> None:
    made.write_directory(root / "generated" / "bundle")
    (root / "other.tar.gz").write_bytes(made.archive())
    (root / "release").mkdir()
    (root / "release" / "bundle.tar.gz").write_bytes(made.archive())
    commit(root)
    assert dict(read(root).files) == dict(made.files)
    for at in ("other.tar.gz", "release/bundle"):
        assert read(root, at=at).revision == made.revision


def test_the_bytes_are_the_commits_whatever_attributes_and_the_working_tree_say(
    root: Path, made: Bundle
) -> None:
    (root / ".gitattributes").write_text("* text eol=crlf export-ignore ident\n*.rego filter=evil\n")
    git(root, "config", "core.autocrlf", "true")
    git(root, "config", "core.fsmonitor", f"touch {root}/owned")
    made.write_directory(root / "generated" / "bundle")
    git(root, "-c", "core.autocrlf=false", "-c", "core.fsmonitor=false", "add", "--all", "generated")
    git(root, "-c", "core.fsmonitor=false", "commit", "--quiet", "-m", "x")
    git(root, "config", "filter.evil.smudge", f"touch {root}/owned")
    for path in (root / "generated" / "bundle").rglob("*.rego"):
        path.write_text("spoilt")
    assert read(root).revision == made.revision
    assert not (root / "owned").exists()


def test_a_bundle_that_was_changed_in_the_commit_is_refused(root: Path, made: Bundle) -> None:
    made.write_directory(root / "generated" / "bundle")
    (root / "generated/bundle/ironcurtain/rules/data.json").write_text("{}")
    commit(root)
    with pytest.raises(BundleIntegrityError, match=r"rules/data\.json"):
        read(root)


def test_a_link_in_the_commit_is_refused(root: Path, made: Bundle) -> None:
    made.write_directory(root / "generated" / "bundle")
    (root / "generated/bundle/ironcurtain/more.rego").symlink_to("/etc/passwd")
    commit(root)
    with pytest.raises(UsageError, match="no regular file"):
        read(root)


def test_no_repository(tmp_path: Path) -> None:
    # The temporary directory may itself lie in somebody's repository; a broken one ends git's search.
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    with pytest.raises(UsageError, match="there is no git repository"):
        Commit.of("main", tmp_path)


@pytest.mark.parametrize(
    "ref", ["nowhere", "", "--all", "--output=/tmp/x", "main:generated", "a b", "main\n", "-", "\x1b[31m"]
)
def test_no_such_commit(root: Path, ref: str) -> None:
    commit(root)
    with pytest.raises(UsageError, match="there is no commit"):
        Commit.of(ref, root)


def test_no_bundle_at_the_commit_and_none_outside_the_repository(root: Path) -> None:
    commit(root)
    with pytest.raises(UsageError, match='holds no bundle at "generated/bundle"'):
        read(root)
    with pytest.raises(UsageError, match="outside the repository"):
        Commit.of("main", root).bundle(root.parent / "elsewhere")


def test_what_is_larger_than_a_bundle_is_not_read(root: Path) -> None:
    (root / "generated").mkdir()
    with (root / "generated" / "bundle.tar.gz").open("wb") as large:
        large.truncate(MAX_BYTES + 1)
    commit(root)
    with pytest.raises(BundleIntegrityError, match="more than 20,000 files or 268,435,456 bytes"):
        read(root)


def test_names_of_commits(root: Path, made: Bundle) -> None:
    made.write_directory(root / "generated" / "bundle")
    commit(root)
    git(root, "tag", "-a", "v1", "-m", "v1")
    commit(root)
    for ref in ("HEAD", "HEAD~1", "v1", git(root, "rev-parse", "--short", "HEAD")):
        assert read(root, ref).revision == made.revision
    assert Commit.of("v1", root).file(root / "generated" / "nothing.yaml") is None
