"""Where the repository is that git would use from a directory: one git process."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from ironcurtain.decision.canonical.git.pipes import refuse_pipes
from ironcurtain.decision.canonical.git.process import Git, GitFailedError, run_git
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

_QUESTION = "--is-bare-repository"
# The bare question is asked again between the answers: its known answers (true, false) fence the paths
# in, so that a path that holds a line break cannot pass for two answers.
_SURVEY = (
    "rev-parse",
    "--path-format=absolute",
    _QUESTION,
    "--absolute-git-dir",
    _QUESTION,
    "--git-common-dir",
    _QUESTION,
    "--show-cdup",
    _QUESTION,
    "--symbolic-full-name",
    "--default",
    "HEAD",
)
_NO_REPOSITORY = (
    "fatal: not a git repository (or any of the parent directories)",
    "fatal: not a git repository (or any parent up to mount point",
)
_BRANCH = "refs/heads/"


class RepositorySurvey(Struct):
    """A repository as git sees it from one directory.

    Attributes:
        top: Top of the work tree; None if git uses none there (bare, or inside the git directory).
        git_directory: The git directory of this work tree.
        common: The common git directory (the same, but for linked worktrees).
        branch: The branch that HEAD points to, also when unborn; None when detached.
        branch_known: Whether `branch` could be told.
    """

    top: str | None
    git_directory: str
    common: str
    branch: str | None
    branch_known: bool

    @property
    def base(self) -> str:
        """The directory that git runs in, which relative remotes mean: the top, or the git directory."""
        return self.top or self.git_directory


Survey: TypeAlias = Callable[[str, Git], RepositorySurvey | None]
"""Says which repository git would use from a real directory, as `survey` does."""


def survey(directory: str, git: Git) -> RepositorySurvey | None:
    """Return the repository that git would use from a real directory, or None if it uses none.

    Raises:
        GitFailedError: If git refuses (ownership, a broken repository) or gives no clear answer.
    """
    looked = partial(refuse_pipes, directory, home=git.environ.get("HOME"))
    answer = run_git(_SURVEY, directory=directory, git=git, placed=True, meanwhile=looked)
    if answer.status:
        if answer.errors.startswith(_NO_REPOSITORY):
            return None
        raise GitFailedError(f"git refuses to work there: {quoted(answer.errors.strip())}")
    return _parse(answer.output.removesuffix("\n").split("\n"), directory)


def survey_once() -> Survey:
    """Return a `survey` that asks git once for each directory."""
    known: dict[tuple[str, int], RepositorySurvey | None] = {}

    def surveyed(directory: str, git: Git) -> RepositorySurvey | None:
        key = directory, id(git)
        if key not in known:
            known[key] = survey(directory, git)
        return known[key]

    return surveyed


def _parse(lines: list[str], directory: str) -> RepositorySurvey:
    bare = lines[0]
    # bare, git directory, bare, common directory, bare, [way up,] bare[, head]
    up, rest = (None, lines[5:]) if lines[5:6] == [bare] else (lines[5:6], lines[6:])
    head = rest[1:]
    fences = [*lines[0:5:2], *rest[:1]]
    if fences != [bare] * 4 or bare not in ("true", "false") or len(head) > 1:
        raise GitFailedError("git's answer about the repository could not be read")
    git_directory, common = lines[1], lines[3]
    branch, known = _branch(head[0] if head else None, git_directory, common)
    return RepositorySurvey(
        top=os.path.normpath(Path(directory, up[0])) if up else None,
        git_directory=os.path.normpath(git_directory),
        common=os.path.normpath(common),
        branch=branch,
        branch_known=known,
    )


def _branch(head: str | None, git_directory: str, common: str) -> tuple[str | None, bool]:
    """Return the branch and whether it is known."""
    if head is not None:
        return (head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else None), True
    # git names HEAD only where it points to a commit; an unborn branch is named by the file alone.
    try:
        text = Path(git_directory, "HEAD").read_text("utf-8", "surrogateescape").strip()
    except OSError:
        return None, False
    name = text.removeprefix("ref:").strip()
    unclear = (
        not text.startswith("ref:")
        or not name.startswith(_BRANCH)
        or name == f"{_BRANCH}.invalid"  # what other reference formats than files write there
        or os.path.lexists(Path(common, name))  # a broken branch, or one that only names another
    )
    return (None, False) if unclear else (name.removeprefix(_BRANCH), True)
