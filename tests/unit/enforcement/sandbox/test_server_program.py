"""What a server's program is made of stays readable, wherever it is installed; nothing else does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.enforcement.sandbox.server_program import program_places
from ironcurtain.servers.config_model import Server


class Machine:
    """A home with programs in the places that installers take."""

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "home"
        self.project = self.home / "projects" / "server"
        for place in (self.project / "src", self.home / ".local" / "bin", self.home / "notes"):
            place.mkdir(parents=True)

    def file(self, path: str, text: str = "", mode: int = 0o755) -> Path:
        """Make a file of the home."""
        made = self.home / path
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(text)
        made.chmod(mode)
        return made

    def places(self, **server: Any) -> set[str]:
        """Return the places of a program below the home."""
        env = {"PATH": f"{self.home}/.local/bin:/usr/bin", **server.pop("env", {})}
        made = Server.model_validate_json(json.dumps({"env": env, **server}))
        found = program_places(made, self.home / "policy", self.home)
        return {str(each.relative_to(self.home)) for each in found if each.is_relative_to(self.home)}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path.resolve())
    (made.home / "policy").mkdir()
    return made


BIN = ".local/bin"


def test_a_package_with_all_that_is_installed_beside_it(machine: Machine) -> None:
    machine.file("policy/node_modules/one/index.js")
    machine.file("policy/mcp-servers.json", "{}")
    found = machine.places(command="node", args=["node_modules/one/index.js"])
    assert found == {BIN, "policy/node_modules"}


def test_the_project_of_a_script(machine: Machine) -> None:
    machine.file("projects/server/pyproject.toml")
    script = machine.file("projects/server/src/main.py")
    assert machine.places(command="python3", args=[str(script)]) == {BIN, "projects/server"}


def test_a_directory_that_is_no_project_is_not_shown_because_an_argument_names_it(machine: Machine) -> None:
    script = machine.file("alone/main.py")
    found = machine.places(
        command="python3", args=[str(script), str(machine.home / "notes"), str(machine.home)]
    )
    assert found == {BIN, "alone"}


def test_an_environment_and_the_interpreter_that_it_was_made_with(machine: Machine) -> None:
    python = machine.file(".pythons/3.12/bin/python3")
    venv = machine.file("envs/one/pyvenv.cfg", f"home = {python.parent}\n").parent
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to(python)
    found = machine.places(command=str(venv / "bin" / "python"), args=["-m", "server"])
    assert {"envs/one", ".pythons/3.12"} <= found


def test_a_tool_behind_a_link_of_the_path(machine: Machine) -> None:
    tool = machine.file("tools/notes/bin/notes", "#!/usr/bin/env interpreter\n")
    machine.file(".interpreters/one/bin/interpreter")
    (machine.home / BIN / "notes").symlink_to(tool)
    (machine.home / BIN / "interpreter").symlink_to(machine.home / ".interpreters/one/bin/interpreter")
    found = machine.places(command="notes")
    assert {BIN, "tools/notes", ".interpreters/one"} <= found
    assert "." not in found


def test_files_that_variables_name(machine: Machine) -> None:
    key = machine.file("keys/service.json")
    found = machine.places(
        command="node", env={"CREDENTIALS": str(key), "MODE": "fast", "HOME": str(machine.home)}
    )
    assert found == {BIN, "keys/service.json"}, "other keys beside it stay hidden"


def test_no_argument_makes_trouble(machine: Machine) -> None:
    words = ["x" * 10_000, "a\0b", "", "-", "--path=", os.devnull, "."]
    assert machine.places(command="node", args=words) == {BIN}
