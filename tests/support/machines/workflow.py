"""Runs the steps of a GitHub workflow and of a composite action, as a runner runs them: with real bash."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

_EXPRESSION = re.compile(r"\$\{\{\s*([\w.]+)\s*\}\}")
_IS = re.compile(r"([\w.]+) == '([^']*)'")
_SHELL = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]


@dataclass(frozen=True)
class Step:
    """One step that ran."""

    name: str
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Runner:
    """Runs steps in a directory.

    Attributes:
        context: Values of expressions, such as `github.base_ref`.
        provided: Actions of others that the machine stands in for, such as `actions/checkout`.
        own: Whether `uses` names our action.
        action: The directory of our action.
    """

    directory: Path
    environment: Mapping[str, str]
    context: Mapping[str, str]
    provided: frozenset[str]
    own: Callable[[str], bool]
    action: Path

    def run(self, workflow: str) -> list[Step]:
        """Run the only job of a workflow."""
        (job,) = YAML(typ="safe").load(workflow)["jobs"].values()
        return self._steps(job["steps"], self.context)

    def run_action(self, given: Mapping[str, str]) -> list[Step]:
        """Run our composite action with some inputs."""
        action = YAML(typ="safe").load((self.action / "action.yml").read_text())
        assert action["runs"]["using"] == "composite"
        assert given.keys() <= action["inputs"].keys()
        inputs = {name: given.get(name, about["default"]) for name, about in action["inputs"].items()}
        named = {f"inputs.{name}": value for name, value in inputs.items()}
        context = {**self.context, **named, "github.action_path": str(self.action)}
        return self._steps(action["runs"]["steps"], context)

    def _steps(self, steps: list[dict[str, Any]], context: Mapping[str, str]) -> list[Step]:
        done: list[Step] = []
        for step in steps:
            failed = any(each.code for each in done)
            if not self._is_wanted(step.get("if"), context, failed=failed):
                continue
            if "uses" in step:
                done += self._use(step, context)
            else:
                done.append(self._bash(step, context))
        return done

    def _use(self, step: dict[str, Any], context: Mapping[str, str]) -> list[Step]:
        name, _, version = step["uses"].partition("@")
        assert version, step
        if name in self.provided:
            return []
        assert self.own(name), name
        given = {key: _filled(str(value), context) for key, value in step.get("with", {}).items()}
        return self.run_action(given)

    def _bash(self, step: dict[str, Any], context: Mapping[str, str]) -> Step:
        assert not _EXPRESSION.search(step["run"]), "an expression in a script is read as shell"
        added = {key: _filled(str(value), context) for key, value in step.get("env", {}).items()}
        ended = subprocess.run(
            [*_SHELL, step["run"]],
            cwd=self.directory,
            env={**self.environment, **added},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
        return Step(step["name"], ended.returncode, ended.stdout, ended.stderr)

    def _is_wanted(self, condition: str | None, context: Mapping[str, str], *, failed: bool) -> bool:
        if condition == "always()":
            return True
        if condition is None:
            return not failed
        found = _IS.fullmatch(condition)
        assert found, condition
        return not failed and context[found[1]] == found[2]


def _filled(text: str, context: Mapping[str, str]) -> str:
    return _EXPRESSION.sub(lambda found: context[found[1]], text)
