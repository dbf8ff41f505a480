"""One release in an OCI registry, as docs/registry.md tells it, with its transcript.

After a wanted change:
`IRONCURTAIN_WRITE_TRANSCRIPTS=1 pytest tests/e2e/transcripts/test_registry_release.py`.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from e2e.program import ROOT, copy_tracked
from e2e.transcripts.test_release import KEY, blocks, commands
from ruamel.yaml import YAML
from support.documentation.transcript import SNAPSHOTS
from support.people.typed import typed
from support.services.oci_registry import NEEDS_REGISTRY, digest, oci_registry
from support.services.plain_opa import plain_opa

TRANSCRIPT = SNAPSHOTS / "registry.md"
ADDRESS = "127.0.0.1:5000"
SHOWN = re.compile(r"^(published|already|pulled|verified|NOT|error|note)|^  (to|digest|-->|hint)")
UNCONTAINED = "note: servers cannot be contained"


@NEEDS_REGISTRY
def test_a_release_in_a_registry_as_the_page_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOCKER_CONFIG", raising=False)
    home, project = tmp_path / "home", copy_tracked(tmp_path / "project")
    program = home / "bin" / "ironcurtain"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nfrom ironcurtain.cli.main import main\nmain()\n")
    program.chmod(0o755)
    environment = {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }
    lines = [
        "# A release in an OCI registry",
        "",
        "What docs/registry.md tells, typed. A test types it",
    ]
    lines[-1] += " again and compares, and lets a plain OPA fetch the release."
    lines += ["", "```text"]
    with oci_registry(tmp_path) as registry:

        def run(command: str, code: int = 0) -> None:
            ended = typed(command.replace(ADDRESS, registry.host), project, environment)
            assert ended.code == code, ended.out + ended.err
            lines.append(f"$ {command}")
            for line in (ended.out + ended.err).splitlines():
                if SHOWN.match(line) and not line.startswith(UNCONTAINED):
                    plain = line.replace(registry.host, ADDRESS).replace(str(home), "~")
                    lines.append(re.sub(r"sha256:[0-9a-f]{64}", "sha256:…", plain))

        typed_commands = commands("registry.md")
        for command in typed_commands:
            run(command)
        assert (project / "release.tar.gz").read_bytes() == (
            project / "generated/bundle.signed.tar.gz"
        ).read_bytes()
        (text,) = blocks("registry.md", "yaml")
        config: dict[str, Any] = YAML(typ="safe").load(text.replace(ADDRESS, registry.host))
        config["keys"]["release"]["key"] = (home / KEY.removeprefix("~/")).read_text()
        config["bundles"]["ironcurtain"]["polling"] = {"min_delay_seconds": 1, "max_delay_seconds": 1}
        with plain_opa(config) as opa:
            opa.until(opa.serves)

        lines += ["```", "", "## The same again, and a layer that was changed in the registry", "", "```text"]
        run(typed_commands[2])
        blob = registry.blob(digest((project / "release.tar.gz").read_bytes()))
        content = blob.read_bytes()
        blob.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        run(typed_commands[3], code=3)
    lines += ["```", ""]
    seen = "\n".join(lines)
    if os.environ.get("IRONCURTAIN_WRITE_TRANSCRIPTS"):
        TRANSCRIPT.write_text(seen)
    assert TRANSCRIPT.read_text() == seen
