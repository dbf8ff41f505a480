"""One release of the shipped policy, as docs/signing.md and docs/publish.md tell it, with its transcript.

After a wanted change:
`IRONCURTAIN_WRITE_TRANSCRIPTS=1 pytest tests/e2e/transcripts/test_release.py`; review the diff.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from e2e.program import ROOT, copy_tracked
from ruamel.yaml import YAML
from support.documentation.transcript import SNAPSHOTS
from support.people.typed import typed
from support.records.signing import archive
from support.services.bundle_server import Held, bundle_server
from support.services.plain_opa import plain_opa

from ironcurtain.bundle.archive import Bundle, unpack

TRANSCRIPT = SNAPSHOTS / "release.md"
ADDRESS = "http://127.0.0.1:8000"
KEY = "~/.ironcurtain/signing-key.pub.pem"
REFUSED = "Bundle load failed"
RULES = "ironcurtain/rules/data.json"
# What a reader of the transcript needs of a command's output: counts change with each policy.
SHOWN = re.compile(
    r"^(id|algorithm|private|public):|^(published|verified|NOT|ALLOW|DENY|ESCALATE|error|note)"
    r"|^  (to|-->|hint|rule|reason)"
)
# What a compile says in addition where servers cannot be contained, which is not the release's subject.
UNCONTAINED = "note: servers cannot be contained"


def blocks(page: str, language: str) -> list[str]:
    """Return the blocks of a page in a language."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """Return the commands of a page's shell blocks, one after the other."""
    return "".join(blocks(page, "sh")).replace("\\\n", "").strip().split("\n")


@dataclass
class Release:
    """A copy of the project, somebody's home, and what was typed there."""

    project: Path
    home: Path
    server: Held
    lines: list[str] = field(default_factory=list)

    def run(self, command: str, code: int = 0) -> str:
        """Type a command; write down what it shows."""
        environment = {
            "PATH": f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        }
        ended = typed(command.replace(ADDRESS, self.url), self.project, environment)
        assert ended.code == code, ended.out + ended.err
        self.lines.append(f"$ {command}")
        printed = (ended.out + ended.err).splitlines()
        self.say(*(line for line in printed if SHOWN.match(line) and not line.startswith(UNCONTAINED)))
        return ended.out

    @property
    def url(self) -> str:
        """The server's address, without the bundle's name."""
        return self.server.url.rpartition("/")[0]

    def say(self, *lines: str) -> None:
        """Write lines down as they would read on any machine and with any key."""
        for line in lines:
            plain = (
                line.replace(self.url, ADDRESS).replace(str(self.home), "~").replace("://~", ":///home/you")
            )
            plain = re.sub(r"sha256:[0-9a-f]{64}", "sha256:…", plain)
            self.lines.append(re.sub(r"(?<![\w-])[\w-]{43}(?![\w-])", "(the key's id)", plain))

    def heading(self, title: str, text: str) -> None:
        """Begin a part."""
        self.lines += ["```", "", f"## {title}", "", text, "", "```text"]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    home = tmp_path_factory.mktemp("home")
    program = home / "bin" / "ironcurtain"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n")
    program.chmod(0o755)
    project = copy_tracked(tmp_path_factory.mktemp("release") / "project")
    with bundle_server() as server:
        yield Release(project, home, server)


def configuration(release: Release) -> dict[str, Any]:
    """Return the configuration of docs/publish.md, with the real address and key, and quicker."""
    (text,) = blocks("publish.md", "yaml")
    config: dict[str, Any] = YAML(typ="safe").load(text.replace(ADDRESS, release.url))
    config["keys"]["release"]["key"] = (release.home / KEY.removeprefix("~/")).read_text()
    config["bundles"]["ironcurtain"]["polling"] = {"min_delay_seconds": 1, "max_delay_seconds": 1}
    return config


def tampered(content: bytes) -> bytes:
    files = unpack(content, "the release")
    return archive({**files, RULES: files[RULES].replace(b'"deny"', b'"allow"')}.items())


def test_a_release_as_the_pages_tell_it(release: Release) -> None:
    release.lines += [
        "# A release, start to end",
        "",
        "What docs/publish.md tells, typed. A test types it again and compares.",
        "",
        "## The signed release",
        "",
        "```text",
    ]
    *released, ask = commands("publish.md")
    for command in released:
        release.run(command)
    content = release.server.content
    assert content == (release.project / "generated/bundle.signed.tar.gz").read_bytes()

    release.heading("A plain OPA serves it", "OPA runs with the `opa.yaml` of that page.")
    question = json.loads(release.run(ask))
    with plain_opa(configuration(release)) as opa:
        opa.until(opa.serves)
        decision = opa.decide(question)
        release.say(
            "$ opa run --server --config-file opa.yaml",
            "POST /v1/data/ironcurtain/decision/decision",
            json.dumps({name: decision[name] for name in ("verdict", "rule", "reason")}),
        )
        ours = release.run(decide("generated/bundle.signed.tar.gz"))
        assert ours.startswith(decision["verdict"].upper())
        assert f"  rule:    {decision['rule']}\n" in ours
        revision = opa.request("GET", "/v1/data/system/bundles/ironcurtain/manifest/revision")
        assert revision[1]["result"] == Bundle.parse(content).revision

        release.heading(
            "A tampered copy is refused", "Somebody who controls the server turns every deny into an allow."
        )
        release.server.content = tampered(content)
        opa.until(lambda: opa.says(REFUSED))
        failure = next(json.loads(line) for line in opa.log.read_text().splitlines() if REFUSED in line)
        release.say("opa: " + failure["msg"].split(", got:")[0].split("(want")[0].strip())
        assert opa.decide(question) == decision
        release.say("POST /v1/data/ironcurtain/decision/decision", "(decided by the release, as before)")
    with plain_opa(configuration(release)) as fresh:
        fresh.until(lambda: fresh.says(REFUSED))
        assert not fresh.serves()
        assert fresh.decide(question) is None
        release.say("(a new OPA answers nothing: every call is to be denied)")
    (release.project / "fetched.tar.gz").write_bytes(release.server.content)
    release.run(decide("fetched.tar.gz"), 3)
    release.run(f"ironcurtain verify fetched.tar.gz --verify-key {KEY}", 3)
    release.lines += ["```", ""]
    text = "\n".join(release.lines)
    if "IRONCURTAIN_WRITE_TRANSCRIPTS" in os.environ:
        TRANSCRIPT.write_text(text)
    assert text == TRANSCRIPT.read_text()


def decide(bundle: str) -> str:
    """Return the command that decides the question of the page on a bundle, as the key's owner wants it."""
    call = 'filesystem read_text_file \'{"path": "~/Documents/letter.txt"}\''
    return f"ironcurtain decide --bundle {bundle} --verify-key {KEY} --sandbox work {call}"


def test_the_commands_of_the_page_on_signing(release: Release) -> None:
    for command in commands("signing.md"):
        # What the other page says, too, has been done already.
        if f"$ {command}" not in release.lines:
            release.run(command)
