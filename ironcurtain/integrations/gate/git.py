"""Bundles and files of commits, read from git's objects: no checkout, no filters, no network.

A policy's text is nobody's program, but the repository around it can be: nothing that it configures is
run, and the bytes are those of the commit, whatever attributes say about line ends.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.members import check_bounds
from ironcurtain.decision.canonical.git.process import OVERRIDES
from ironcurtain.errors import SystemFailedError, UsageError
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.structs import Struct
from ironcurtain.system.subprocess_runner import run
from ironcurtain.system.text import quoted, visible

_SECONDS = 60.0
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
_KEPT = ("HOME", "PATH", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_FILES = ("100644", "100755")
_ARCHIVE = "bundle.tar.gz"
_SHORT = 12
_ABOUT = "%an <%ae>%x00%aI%x00%s"


class Change(Frozen):
    """A commit that changed what was asked about.

    Attributes:
        parents: The changes before it; several in a merge whose sides both changed it.
        author: Name and address, as the commit has them.
        date: When it was written, in ISO 8601.
    """

    commit: str
    parents: tuple[str, ...]
    author: str
    date: str
    subject: str


class Commit(Struct):
    """One commit of the repository that a path lies in.

    Attributes:
        root: The repository's top directory.
        name: What the commit was called.
        digest: Its object name.
    """

    root: Path
    name: str
    digest: str

    @classmethod
    def of(cls, ref: str, near: Path) -> Commit:
        """Find a commit in the repository of a directory.

        Raises:
            UsageError: If the directory lies in no repository, or there is no such commit.
            SystemFailedError: If git does not run.
        """
        status, out, errors = _git(near, "rev-parse", "--show-toplevel")
        if status != 0:
            raise UsageError(
                f"there is no git repository: {_said(errors)}",
                where=str(near),
                hint="Name a bundle inside a repository.",
            )
        root = Path(os.fsdecode(out.rstrip(b"\n")))
        status, out, _ = _git(
            root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}"
        )
        if status != 0:
            raise UsageError(
                f"there is no commit {quoted(ref)} in the repository",
                where=str(root),
                hint="Fetch it first: a shallow clone holds only its newest commit.",
            )
        return cls(root, ref, out.decode().strip())

    def bundle(self, path: Path) -> Bundle:
        """Return the bundle that the commit holds at a path of the working tree, or beside it as an archive.

        Raises:
            UsageError: If it holds none there.
            BundleIntegrityError: If what it holds there is no bundle, or larger than one may be.
            SystemFailedError: If git does not run.
        """
        found = self.find_bundle(path)
        if found is None:
            raise UsageError(
                f"the commit {quoted(self.name)} holds no bundle at {quoted(self._inside(path))}",
                where=str(self.root),
                hint="Commit generated/ with the constitution that it was compiled from.",
            )
        return found

    def find_bundle(self, path: Path) -> Bundle | None:
        """Return the same, or None if the commit holds none there."""
        for each in self._places(path):
            files = self._files(each)
            if files:
                where = f"{self.name}:{each}"
                if set(files) == {""}:
                    return Bundle.parse(files[""], where)
                return Bundle.of_files(files, where)
        return None

    def at(self, commit: str) -> Commit:
        """Return another commit of the repository, by its object name."""
        return Commit(self.root, commit[:_SHORT], commit)

    def history(self, path: Path) -> list[Change]:
        """Return the commits that made a bundle or another file of the working tree what it is, newest first.

        Raises:
            SystemFailedError: If git does not run.
        """
        listed = ("--literal-pathspecs", "rev-list", "--topo-order", "--parents", f"--format={_ABOUT}")
        status, out, errors = _git(self.root, *listed, self.digest, "--", *self._places(path))
        if status != 0:
            raise SystemFailedError(f"git does not list the history: {_said(errors)}", where=str(self.root))
        lines = out.decode("utf-8", "replace").split("\n")
        changes = []
        for names, about in zip(lines[::2], lines[1::2], strict=False):
            commit, *parents = names.removeprefix("commit ").split()
            author, date, subject = about.split("\0", 2)
            changes.append(
                Change(commit=commit, parents=tuple(parents), author=author, date=date, subject=subject)
            )
        return changes

    @property
    def is_shallow(self) -> bool:
        """Whether the repository may lack the beginning of its history."""
        return _git(self.root, "rev-parse", "--is-shallow-repository")[1].strip() == b"true"

    def _places(self, path: Path) -> tuple[str, str]:
        """Return a path of the working tree as the commit has it, and the archive beside it."""
        inside = self._inside(path)
        return inside, f"{inside.rpartition('/')[0]}/{_ARCHIVE}".lstrip("/")

    def file(self, path: Path) -> bytes | None:
        """Return what the commit holds at a path of the working tree, None if that is no file."""
        return self._files(self._inside(path)).get("")

    def _inside(self, path: Path) -> str:
        absolute = Path(os.path.realpath(path))
        root = Path(os.path.realpath(self.root))
        if not absolute.is_relative_to(root):
            raise UsageError("the bundle lies outside the repository", where=str(path))
        return absolute.relative_to(root).as_posix()

    def _files(self, path: str) -> Mapping[str, bytes]:
        """Return all files below a path, by their paths relative to it; a file itself has the path ``."""
        listed = ("--literal-pathspecs", "ls-tree", "-r", "-l", "-z", "--full-tree", self.digest, "--", path)
        status, out, errors = _git(self.root, *listed)
        if status != 0:
            raise SystemFailedError(f"git does not list the commit: {_said(errors)}", where=str(self.root))
        blobs: dict[str, str] = {}
        total = 0
        for line in filter(None, out.split(b"\0")):
            about, _, name = line.partition(b"\t")
            mode, _, digest, size = about.decode().split()
            shown = os.fsdecode(name)
            if mode not in _FILES:
                raise UsageError(f"{quoted(shown)} is no regular file in the commit", where=str(self.root))
            total += int(size) if size.isdecimal() else 0  # git has no number for an object that is not there
            check_bounds(len(blobs), total, f"{self.name}:{path}")  # before all of it is in memory
            blobs[shown.removeprefix(path).lstrip("/")] = digest
        return self._contents(blobs)

    def _contents(self, blobs: Mapping[str, str]) -> Mapping[str, bytes]:
        asked = "".join(f"{digest}\n" for digest in blobs.values()).encode()
        status, out, errors = _git(self.root, "cat-file", "--batch", stdin=asked)
        if status != 0:
            raise SystemFailedError(f"git does not read the commit: {_said(errors)}", where=str(self.root))
        contents: dict[str, bytes] = {}
        start = 0
        for name, digest in blobs.items():
            head_end = out.index(b"\n", start)
            head = out[start:head_end].decode().split()
            if head[:2] != [digest, "blob"]:
                raise SystemFailedError("the repository lacks an object of the commit", where=str(self.root))
            begin = head_end + 1
            contents[name] = out[begin : begin + int(head[2])]
            start = begin + int(head[2]) + 1
        return contents


def _git(directory: Path, *arguments: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
    """Run a built-in, read-only git command; return its status, output and errors."""
    overrides = (part for key, value in OVERRIDES for part in ("-c", f"{key}={value}"))
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | _ENVIRONMENT
    search = ProgramSearch.own()
    program = search.find("git")
    if program is None:
        why = search.passed_over("git") or "is not installed"
        raise SystemFailedError(f"git {why}", where=str(directory))
    try:
        command = [str(program), "--no-pager", *overrides, *arguments]
        done = run(command, cwd=directory, environment=environment, timeout=_SECONDS, stdin=stdin)
    except (OSError, ValueError) as error:
        raise SystemFailedError(f"git did not run: {visible(str(error))}", where=str(directory)) from error
    return done.status, done.stdout, done.stderr


def _said(errors: bytes) -> str:
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return visible(lines[0].removeprefix("fatal: ")) if lines else "it said nothing"
