"""The story of the transcript gate: a pull request that loosens, its approval, the pass.

`python tests/support/documentation/gate_story.py` writes the transcript anew.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from e2e.program import in_process
from fixtures.tiny_project import ANNOTATIONS, CONSTITUTION, RULES, answer, write_project

from support.documentation.transcript import SNAPSHOTS
from support.machines.workflow import Runner, Step

ROOT = Path(__file__).parents[3]
TRANSCRIPT = SNAPSHOTS / "gate.md"
WORKFLOW = re.search(
    r"^```yaml\n(name: policy\n.*?)^```$", (ROOT / "docs/gate.md").read_text(), re.MULTILINE | re.DOTALL
)
PROVIDED = frozenset({"actions/checkout", "actions/setup-python"})
BEFORE = "Notes in `~/notes` may be read."
AFTER = "Notes in `~/notes` and mail in `~/mail` may be read."
CLOCK = "- Notes are read within a day of being written.\n"
GUARANTEES = """\
format: ironcurtain/guarantees/v1
guarantees:
  - id: no-system-files
    never: allow
    when: {roles: [read-path], within: [/etc]}
"""
# Posts nothing: it keeps what would have been posted.
GH = '#!/bin/sh\n[ "$1 $2 $4" = "pr comment --body-file" ] && cp "$5" "$COMMENT"\n'
INTRODUCTION = """\
# The gate at work

What docs/gate.md describes, in a scratch repository: the steps of its workflow run as a runner
runs them. A test runs all this again and compares; `python tests/support/documentation/gate_story.py`
writes it anew. Revisions are shortened.
"""


class Story:
    """Runs commands in a scratch repository and writes down what they print."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.project = directory / "project"
        self.comment = directory / "comment.md"
        self.text = [INTRODUCTION]
        self.environment = self._environment()

    def _environment(self) -> Mapping[str, str]:
        programs = self.directory / "bin"
        programs.mkdir()
        command = f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n"
        for name, content in (("ironcurtain", command), ("gh", GH)):
            (programs / name).write_text(content)
            (programs / name).chmod(0o755)
        who = {
            f"GIT_{r}_{k}": "alice@example.com" for r in ("AUTHOR", "COMMITTER") for k in ("NAME", "EMAIL")
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GITHUB_"))}
        return {
            **kept,
            **who,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.directory),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PYTHONPATH": str(ROOT),
            "COMMENT": str(self.comment),
        }

    def run(self, command: str, code: int = 0, *, told: bool = True) -> str:
        """Run a command line in bash and write it down."""
        ended = subprocess.run(
            ["bash", "-c", command],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
        assert ended.returncode == code, (command, ended.stdout, ended.stderr)
        if told:
            end = f"exit {code}\n" if code else ""
            self._block("console", f"$ {command}\n{ended.stdout}{ended.stderr}{end}")
        return ended.stdout

    def inside(self, *arguments: str, code: int = 0) -> str:
        """Run one of our commands, of which nothing is written down, inside this process."""
        given = {name: self.environment[name] for name in ("HOME", "XDG_CACHE_HOME")}
        ended = in_process(*arguments, cwd=self.project, **given)
        assert ended.code == code, (arguments, ended)
        return ended.out

    def say(self, text: str) -> None:
        """Write down a sentence."""
        self.text.append(f"{text}\n")

    def pull_request(self) -> list[Step]:
        """Run the documented workflow and write down its steps and the comment."""
        assert WORKFLOW is not None
        self.comment.unlink(missing_ok=True)
        context = {"github.base_ref": "main", "github.token": "none", "github.event.number": "7"}
        runner = Runner(
            self.project, self.environment, context, PROVIDED, lambda n: n == "OWNER/ironcurtain", ROOT
        )
        # The machine has the package and the engine, as a job has them after the first step.
        steps = runner.run(
            WORKFLOW[1].replace("          bundle:", "          install: false\n          bundle:")
        )
        for step in steps:
            shown = "" if step.name.startswith("Find") else f"{step.out}{step.err}"
            self._block("console", f"# {step.name}\n{shown}exit {step.code}\n")
        self.say("The comment:")
        self._block("markdown", self.comment.read_text())
        return steps

    def _block(self, kind: str, content: str) -> None:
        plain = content.replace(str(self.directory), "/scratch")
        self.text.append(
            f"````{kind}\n{re.sub(r'(sha256:[0-9a-f]{8})[0-9a-f]{56}', 'sha256:…', plain)}````\n"
        )


def compile_policy(story: Story, constitution: str, rules: Mapping[str, object]) -> None:
    """Compile, answering the questions by hand."""
    (story.project / "constitution.md").write_text(constitution)
    for key, content in (("annotate-notes-1", ANNOTATIONS), ("rules-notes", rules)):
        if not (story.project / "generated").exists() or key.startswith("rules"):
            story.inside("compile", "--saved-tools", code=4)
            answer(story.project, key, content)
    story.inside("compile", "--saved-tools")


def begin(directory: Path) -> Story:
    """Make a repository whose main branch holds a compiled policy, and a branch that loosens it."""
    story = Story(directory)
    story.project.mkdir()
    write_project(story.project)
    (story.project / "guarantees.yaml").write_text(GUARANTEES)
    with (story.project / "ironcurtain.toml").open("a") as settings:
        settings.write("\n[verify]\nguarantees = 1\n")
    (story.project / ".gitignore").write_text("/questions/\n/gate.*\n/.generated.lock\n")
    listed = story.inside("tools", "notes")
    (story.project / "tools.json").write_text(listed)
    servers = {"mcpServers": {"notes": {"tools": "tools.json"}}}
    (story.project / "mcp-servers.json").write_text(json.dumps(servers))
    rules = {**RULES, "not_enforceable": []}
    constitution = CONSTITUTION.replace(CLOCK, "")
    compile_policy(story, constitution, rules)
    story.run(
        "git init -q -b main . && git add -A && git commit -qm 'The policy' && git checkout -qb mail",
        told=False,
    )
    # What a checkout of the pull request knows of its target.
    story.run("git update-ref refs/remotes/origin/main main", told=False)
    text = json.loads(json.dumps(rules))
    text["rules"][0]["if"]["paths"][0]["within"].append("~/mail")
    compile_policy(story, constitution.replace(BEFORE, AFTER), text)
    story.run("git commit -qam 'Mail may be read'", told=False)
    return story


def tell(directory: Path) -> tuple[str, list[Step], list[Step]]:
    """Run the whole story; return the transcript and the steps of both runs of the workflow."""
    story = begin(directory)
    story.say("## A pull request that loosens\n\nThe constitution gets two words, and is compiled.")
    story.run("git diff --unified=0 origin/main -- constitution.md | tail -n 3")
    refused = story.pull_request()
    story.say("## Its approval\n\nSomebody gives a reason, and commits it for review.")
    story.run("git show origin/main:generated/bundle.tar.gz > ../published.tar.gz")
    story.run(
        "ironcurtain diff ../published.tar.gz generated/bundle --write-approval diff-approvals.yaml "
        "--reason 'The agent sorts mail, too.' --approver alice@example.com > /dev/null",
        4,
    )
    story.run("cat diff-approvals.yaml")
    story.run("git add -A && git commit -qm 'Approve it'")
    story.say("## The pass")
    passed = story.pull_request()
    return "\n".join(story.text), refused, passed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        TRANSCRIPT.write_text(tell(Path(scratch))[0], encoding="utf-8")
