"""The next steps that `init` and `compile` print, typed in a shell as they are printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from e2e.program import ROOT, environment
from fixtures.tiny_project import answer
from support.projects.notes_project import LIST, READ, TOOLS

ASK = {"name": "notes-ask", "clause": "C3", "if": {"tool": ["list_tags", "read_note"]}, "then": "escalate"}
RULES = {"rules": [{**ASK, "description": "", "reason": "C3 says so."}], "not_enforceable": []}
ANSWERS = {"annotate-notes-1": TOOLS, "rules-notes": RULES}


class Shell:
    """A person's shell: where it is stays from command to command."""

    def __init__(self, here: Path, home: Path) -> None:
        program = home / "bin" / "ironcurtain"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n")
        program.chmod(0o755)
        path = f"{program.parent}:{environment()['PATH']}"
        self._environment = environment(HOME=str(home), PATH=path, PYTHONPATH=str(ROOT))
        self._here = str(here)

    def type(self, command: str) -> tuple[int, str]:
        """Type a command; return its exit code, and all that it printed."""
        ended = subprocess.run(
            ["bash", "-c", f"{command}\ncode=$?; echo; pwd; exit $code"],
            cwd=self._here,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        printed, _, self._here = ended.stdout.rstrip("\n").rpartition("\n")
        return ended.returncode, printed + ended.stderr


def test_what_init_prints_leads_to_a_verified_policy(tmp_path: Path) -> None:
    project = tmp_path / "my agent's"
    project.mkdir()
    server = {"command": "/nowhere/at-all", "tools": "notes.json"}
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": server}}))
    (project / "notes.json").write_text(json.dumps({"tools": [LIST, READ]}))
    shell = Shell(tmp_path, tmp_path / "home")
    code, printed = shell.type(f'ironcurtain init "{project.name}"')
    assert code == 0
    steps = [line.strip() for line in printed.split("\nNext:\n")[1].splitlines() if line.startswith("  ")]
    assert len(steps) == 6
    compiled = 0
    for step in steps:
        code, printed = shell.type(step)
        while code == 4 and "compile" in step:
            [question] = re.findall(r"read questions/([\w-]+)\.md", printed)
            for command in re.findall(r"`(ironcurtain [^`]*)` lists them", printed):
                assert shell.type(command)[0] in {0, 4}
            answer(project, question, ANSWERS[question])
            compiled += 1
            code, printed = shell.type(step)  # "then run this again"
        assert code == 0, (step, printed)
        assert "error[" not in printed
    assert compiled == len(ANSWERS)
