"""`ironcurtain blame` in real repositories, with real OPA: who first permitted a call."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Ended, Inside, assert_clear
from support.machines.git import git_environment
from support.projects.policies import annotations_of, compiled, rule, tool

from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry

ASK = "The agent asks before it reads anything."
DOCS = "The agent may read the documents."
PAPERS = "The agent may read all papers and documents."
OTHER = "The agent may remove nothing."


@dataclass(frozen=True)
class Project:
    """A project in a git repository."""

    root: Path
    inside: Inside
    environment: dict[str, str]

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def write(self, sentence: str, *more: str) -> None:
        """Write the constitution."""
        lines = ["# Rules", "", *(f"- {each}" for each in (sentence, *more))]
        (self.root / "constitution.md").write_text("\n".join(lines) + "\n")

    def compile(self, *rules: dict[str, Any]) -> None:
        """Write the bundle of rules, whose clauses are the items of the constitution."""
        items = [
            (number, line.removeprefix("- "))
            for number, line in enumerate((self.root / "constitution.md").read_text().splitlines(), 1)
            if line.startswith("- ")
        ]
        clauses = [
            {"id": f"C{n}", "text": text, "source": f"constitution.md:{line}"}
            for n, (line, text) in enumerate(items, 1)
        ]
        bundle = assemble(
            compiled([*rules], clauses=clauses),
            annotations_of(
                {"files": [tool("read", path=["read-path"]), tool("remove", path=["delete-path"])]}
            ),
            registry=Registry(),
            release=Release(engine_version="test"),
        )
        shutil.rmtree(self.root / "generated", ignore_errors=True)
        bundle.write_directory(self.root / "generated" / "bundle")

    def commit(self, subject: str, author: str = "Ada <ada@x.example>") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--author", author, "-m", subject)
        return self.git("rev-parse", "HEAD")

    def blame(self, *options: str, path: str = "~/docs/a", root: Path | None = None) -> Ended:
        home = ["--home", str(self.root.parent / "home"), *options]
        bundle = str((root or self.root) / "generated" / "bundle")
        call = ["files", "read", json.dumps({"path": path})]
        return self.inside("blame", *home, "--bundle", bundle, *call, cwd=root or self.root)

    def found(self, code: int = 0, **more: Any) -> Any:
        ended = self.blame("--format", "json", **more)
        assert (ended.code, ended.err) == (code, ""), ended.err
        return json.loads(ended.out)


def allow(name: str = "read-docs", within: str = "~/docs", clause: str = "C1") -> dict[str, Any]:
    return rule(name, "allow", tool=["read"], paths={"roles": ["read-path"], "within": [within]}) | {
        "clause": clause
    }


ASKING = rule("ask", "escalate", tool=["read"])
REMOVE = rule("no-remove", "deny", tool=["remove"]) | {"clause": "C2"}


@pytest.fixture
def project(tmp_path: Path, inside: Inside) -> Project:
    (tmp_path / "home" / "docs").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    made = Project(tmp_path / "project", inside, git_environment(tmp_path / "git-home"))
    made.git("init", "--quiet", "-b", "main", ".")
    (made.root / "ironcurtain.toml").write_text('constitution = "constitution.md"\n')
    made.write(ASK)
    made.compile(ASKING)
    made.commit("Ask")
    return made


def test_the_commit_from_which_on_it_is_permitted_without_a_break(project: Project) -> None:
    """A binary search over these six would find the first of two permissions, or the second, by chance."""
    project.write(DOCS)
    project.compile(allow())
    project.commit("Permit for the first time")
    project.write(ASK)
    project.compile(ASKING)
    project.commit("Ask again")
    project.write(PAPERS)
    written = project.commit("Write of papers", "Grace <grace@x.example>")
    project.compile(allow("read-papers"))
    since = project.commit("Compile it", "Edsger <edsger@x.example>")
    project.write(PAPERS, OTHER)
    project.compile(allow("read-papers"), REMOVE)
    project.commit("Say something else")
    found = project.found()
    assert (found["since"]["commit"], found["written"]["commit"]) == (since, written)
    assert (found["since"]["author"], found["since"]["subject"]) == (
        "Edsger <edsger@x.example>",
        "Compile it",
    )
    assert (found["before"]["verdict"], found["before"]["rule"]) == ("escalate", "ask")
    assert (found["after"]["clause"], found["after"]["text"]) == ("C1", PAPERS)
    assert (found["sentence_before"], found["unknown"]) == (ASK, "")
    lines = project.blame().out.splitlines()
    assert lines[0] == f'ALLOW files/read: now allow by read-papers, C1 (constitution.md:3) "{PAPERS}"'
    assert lines[1].startswith(f"permitted since {since[:12]} 20")
    assert lines[1].endswith(" Edsger <edsger@x.example>: Compile it")
    assert lines[2:4] == [
        f'  after:  allow by read-papers, C1 (constitution.md:3) "{PAPERS}"',
        f'  before: escalate by ask, C1 (constitution.md:3) "{ASK}"',
    ]
    assert lines[5].startswith(f"  the sentence is there since {written[:12]} ")


def test_the_first_bundle_of_all(project: Project) -> None:
    since = project.git("rev-parse", "HEAD")
    project.write(DOCS)
    project.compile(allow())
    project.git("add", "--all")
    project.git("commit", "--quiet", "--amend", "-m", "Begin")
    found = project.found()
    assert found["since"]["commit"] == project.git("rev-parse", "HEAD") != since
    assert (found["before"], found["sentence_before"]) == (None, None)
    assert "  before: there was no bundle\n" in project.blame().out


def test_the_same_sentence_under_other_rules(project: Project) -> None:
    project.compile(allow())
    since = project.commit("Answer otherwise")
    found = project.found()
    assert (found["since"]["commit"], found["sentence_before"]) == (since, ASK)
    assert found["written"]["subject"] == "Ask"
    assert "C1 before: the same: rules, lists or annotations changed" in project.blame().out


def test_a_time_without_a_bundle_is_a_break(project: Project) -> None:
    project.write(DOCS)
    project.compile(allow())
    project.commit("Permit")
    shutil.rmtree(project.root / "generated")
    project.commit("Publish nothing")
    project.compile(allow())
    since = project.commit("Publish again")
    found = project.found()
    assert (found["since"]["commit"], found["before"]) == (since, None)


def test_a_merge_names_the_commit_of_the_side_that_permits(project: Project) -> None:
    project.git("checkout", "--quiet", "-b", "side")
    project.write(DOCS, OTHER)
    project.compile(allow())
    since = project.commit("Permit on the side")
    project.git("checkout", "--quiet", "main")
    project.write(ASK, OTHER)
    project.compile(ASKING, REMOVE)
    project.commit("Go on")
    project.git("merge", "--quiet", "--no-commit", "--strategy", "ours", "side")
    project.write(DOCS, OTHER)
    project.compile(allow(), REMOVE)
    project.commit("Merge")
    assert project.found()["since"]["commit"] == since


def test_what_is_not_permitted_has_nobody_to_blame(project: Project) -> None:
    found = project.found(1)
    assert (found["now"]["verdict"], found["since"]) == ("escalate", None)
    ended = project.blame()
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.endswith("It is not permitted, so nothing first permitted it.\n")


def test_a_bundle_that_is_not_in_the_history(project: Project, tmp_path: Path) -> None:
    project.write(DOCS)
    project.compile(allow())
    ended = project.blame()
    assert_clear(ended, 2, "IC1001")
    assert "the bundle is not the committed one" in ended.err
    shutil.copytree(project.root, tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    assert "there is no git repository" in project.blame(root=tmp_path / "copy").err
    (project.root / ".gitignore").write_text("generated\n")
    project.git("rm", "--quiet", "-r", "--cached", "generated")
    project.commit("Keep no bundle")
    ended = project.blame()
    assert_clear(ended, 2, "IC1001")
    assert "holds no bundle at" in ended.err


def test_a_bundle_of_before_that_cannot_be_used(project: Project) -> None:
    file = project.root / "generated/bundle/ironcurtain/rules/data.json"
    file.write_text(file.read_text() + " ")
    broken = project.commit("Spoil it")
    project.write(DOCS)
    project.compile(allow())
    since = project.commit("Permit")
    found = project.found(3)
    assert (found["since"]["commit"], found["before"]) == (since, None)
    assert found["unknown"].startswith(f"what the bundle of {broken[:12]} decides: the content is not that")
    assert f"permitted at least since {since[:12]}" in project.blame().out


def test_a_shallow_clone_does_not_know_the_beginning(project: Project, tmp_path: Path) -> None:
    project.write(DOCS)
    project.compile(allow())
    project.commit("Permit")
    project.git("clone", "--quiet", "--depth", "1", f"file://{project.root}", str(tmp_path / "shallow"))
    ended = project.blame(root=tmp_path / "shallow")
    assert (ended.code, ended.err) == (3, "")
    assert "permitted at least since" in ended.out
    assert "not known: what was before: the clone is shallow" in ended.out


def test_nothing_that_the_repository_configures_is_run(project: Project, tmp_path: Path) -> None:
    project.write(DOCS)
    project.compile(allow())
    project.commit("Permit \x1b[2J it")
    for name in ("core.fsmonitor", "core.pager", "gpg.program", "diff.external", "core.alternateRefsCommand"):
        project.git("config", name, f"touch {tmp_path}/owned")
    project.git("config", "log.showSignature", "true")
    ended = project.blame()
    assert ended.code == 0
    assert "Permit \\x1b[2J it" in ended.out
    assert not (tmp_path / "owned").exists()
