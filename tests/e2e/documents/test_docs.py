"""The documentation as `make docs` builds it: whole, in its order, with nothing that leads nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.program import ROOT
from support.documentation.attack_table import ATTACKS

import ironcurtain
from ironcurtain.cli.main import COMMANDS, GROUPS
from ironcurtain.system.assets import KNOWN_SERVERS

pytest.importorskip("sphinx", reason="Sphinx is not installed: run `make setup`")
PARTS = ["Start", "Author", "Review", "Run", "Operate", "Reference"]


def build(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    flags = re.search(r"^SITE := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert flags
    given = flags[1].replace("-c docs", f"-c {ROOT / 'docs'}").replace(".cache/doctrees", f"{site}.doctrees")
    command = [sys.executable, "-m", "sphinx", *given.split(), str(source), str(site)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=550)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "html"
    ended = build(ROOT, made)
    assert (ended.returncode, ended.stderr) == (0, "")
    return made


@pytest.mark.timeout(600)
def test_the_site_is_in_the_guided_order(site: Path) -> None:
    assert "url=docs/index.html" in (site / "index.html").read_text()
    text = (site / "docs" / "proxy.html").read_text()
    assert re.findall(r'<p class="caption"[^>]*><span class="caption-text">(\w+)<', text) == PARTS
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT)).with_suffix(".html").is_file()


@pytest.mark.timeout(600)
def test_the_api_reference_has_each_exported_name(site: Path) -> None:
    text = (site / "docs" / "api.html").read_text()
    exported = {f"ironcurtain.{name}" for name in ironcurtain.__all__ if name != "errors"}
    assert exported <= set(re.findall(r'id="([\w.]+)"', text))


@pytest.mark.timeout(600)
def test_the_command_reference_has_each_command_in_its_group(site: Path) -> None:
    text = (site / "docs" / "commands.html").read_text()
    headings = re.findall(r"<h2>(.+?)<a|<h3>ironcurtain (\w+)<a", text)
    own = re.findall(r"(?m)^## (.+)$", (ROOT / "docs" / "commands.md").read_text())
    told = [group or name for group, name in headings][len(own) :]
    assert told == [each for group, commands in GROUPS.items() for each in (group, *commands)]
    assert len(told) == len(GROUPS) + len(COMMANDS)


@pytest.mark.timeout(600)
def test_attacks_and_well_known_servers_are_listed(site: Path) -> None:
    attacks = (site / "docs" / "attacks.html").read_text()
    missing = [path.name for path in ATTACKS.rglob("test_*.py") if f">{path.name}<" not in attacks]
    assert missing == []
    known = (site / "docs" / "known-servers.html").read_text()
    assert [each.stem for each in KNOWN_SERVERS.glob("*.json") if f"<h2>{each.stem}<" not in known] == []


@pytest.mark.timeout(600)
def test_what_leads_nowhere_fails(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("# Docs\n\n## Start\n\n- [One](one.md)\n- [Gone](gone.md)\n")
    (docs / "one.md").write_text("# One\n\n[Gone](index.md#gone) and [here](index.md#start).\n")
    (docs / "lost.md").write_text("# Lost\n")
    ended = build(tmp_path, tmp_path / "html")
    assert ended.returncode != 0
    warned = re.findall(r"^(.*WARNING: .*)$", ended.stderr, re.MULTILINE)
    for expected in ("gone.md", "'gone'", "lost.md: WARNING: document isn't included in any toctree"):
        assert any(expected in each for each in warned), ended.stderr
    assert "'start'" not in ended.stderr
