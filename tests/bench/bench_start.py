"""What a person waits for at a prompt: commands as processes of their own, beside the programs they need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.bench_compile import INPUTS
from bench.figures import Figures, measure
from support.documentation.transcript import ROOT
from support.projects.shipped import GENERATED

from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.engine.locate import find
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.tool_lists.listing import list_tools

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]
REPETITIONS = 5
BUNDLE = str(GENERATED / "bundle")
PROGRAM = (sys.executable, "-c", "from ironcurtain.cli.main import main; main()")
CALL = ("filesystem", "read_text_file", json.dumps({"path": "notes.txt"}))


def ours(*arguments: str, cwd: Path) -> Callable[[], bytes]:
    """Return what runs a command of ours."""
    # An installed program finds its byte code beside it; a shell that forbids writing it must not count.
    kept = str(cwd / "pycache") if cwd != ROOT else str(ROOT / ".cache" / "pycache")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": kept}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run() -> bytes:
        ended = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return run


def opa(*arguments: str, given: bytes = b"") -> None:
    subprocess.run([str(find().path), *arguments], input=given, check=True, capture_output=True)


def test_decide(tmp_path: Path, figures: Figures) -> None:
    named = ("--bundle", BUNDLE, "--sandbox", str(tmp_path))
    question = ours("input", *named, *CALL, cwd=tmp_path)()

    def bare() -> None:
        opa("eval", "-b", BUNDLE, "-I", "data.ironcurtain.decision.decision", given=question)

    plain, whole = measure(bare, ours("decide", *named, *CALL, cwd=tmp_path), repetitions=REPETITIONS)
    figures.add("`decide` / `opa eval` of its bundle, both cold", whole.per(plain), 4, f"{whole}; {plain}")


def test_verify(tmp_path: Path, figures: Figures) -> None:
    question = ours("input", "--bundle", BUNDLE, "--sandbox", str(tmp_path), *CALL, cwd=tmp_path)()

    def bare() -> None:
        opa("check", "--strict", "-b", BUNDLE, "-s", str(ROOT / "schemas"))
        opa("test", "-b", BUNDLE)
        opa("eval", "-b", BUNDLE, "-I", "data.ironcurtain.decision.decision", given=question)

    plain, whole = measure(bare, ours("verify", BUNDLE, cwd=ROOT), repetitions=REPETITIONS)
    figures.add("`verify` / opa check + test + one eval, cold", whole.per(plain), 4, f"{whole}; {plain}")


def test_compile_of_what_is_unchanged(tmp_path: Path, figures: Figures) -> None:
    for name in INPUTS:
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(GENERATED, tmp_path / "generated")
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    config = load_servers(tmp_path / "mcp-servers.json")

    def servers() -> None:
        assert list_tools(config, contained_launcher(lambda _: None))

    plain, whole = measure(servers, ours("compile", "--locked", cwd=tmp_path), repetitions=REPETITIONS)
    figures.add("`compile --locked` / starting its servers alone", whole.per(plain), 2.5, f"{whole}; {plain}")
