"""The recorded tool lists of well-known servers, made again: `make known-servers [NAMES="NAME=VERSION …"]`.

Each server is fetched and started by the product's own commands, contained and without an account, and what
it lists is written to `ironcurtain/compiler/known_servers/lists`, beside what is there: no list is ever
changed. A version that lists something else than before, beside other versions of its libraries, is
recorded as `VERSION~2`. Tools without an annotation are named, for a person to review them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.compiler.annotate.known import LISTS, KnownServers
from ironcurtain.model.known import KnownServer
from ironcurtain.system.assets import KNOWN_SERVERS
from ironcurtain.system.files import load
from ironcurtain.system.frozen import JsonValue


def main(wanted: dict[str, str]) -> int:
    """Record each named server, or all in their last version; return 1 if a list cannot be had."""
    failed = False
    for path in sorted(KNOWN_SERVERS.glob("*.json")):
        server = load(path, KnownServer)
        if wanted and server.server not in wanted:
            continue
        version = wanted.get(server.server) or server.versions[-1].partition("~")[0]
        said = _record(server, version, path)
        failed = failed or said is not None
        print(f"{server.server} {version}: {said or 'recorded'}")  # noqa: T201 - a script
    for line in unreviewed(KnownServers(KNOWN_SERVERS)):
        print(line)  # noqa: T201 - as above
    return int(failed)


def unreviewed(collection: KnownServers) -> Iterator[str]:
    """Yield a line for each recorded tool that no annotation is for."""
    for server in collection.servers:
        for version in server.versions:
            for tool in collection.listed(server, version):
                if collection.find(tool) is None:
                    yield f"{server.server} {version}: {tool.name} is not annotated"


def _record(server: KnownServer, version: str, path: Path) -> str | None:
    """Write the list of one version; return why that was not possible."""
    with tempfile.TemporaryDirectory() as temporary:
        project = Path(temporary)
        (project / "ironcurtain.toml").touch()
        (project / "mcp-servers.json").write_text(
            json.dumps({"mcpServers": {"known": _entry(server, version)}})
        )
        for name, content in server.start.files.items():
            (project / name).write_text(content)
        environment = {**os.environ, "IRONCURTAIN_HOME": str(project / ".home")}
        for words in (("servers", "fetch"), ("tools", "known", "--servers", "mcp-servers.json")):
            ended = subprocess.run(
                ["ironcurtain", *words],
                cwd=project,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if ended.returncode:
                needs = f" (needs {server.start.needs})" if server.start.needs else ""
                return f"cannot be listed{needs}: {' '.join(ended.stderr.split())}"
    _keep(server, version, path, _pretty(json.loads(ended.stdout)))
    return None


def _keep(server: KnownServer, version: str, path: Path, text: str) -> None:
    """Write a list under the first form of its version that is free, unless it is recorded."""
    for form in (version, *(f"{version}~{number}" for number in range(2, 100))):
        recorded = KNOWN_SERVERS / LISTS / f"{server.server}-{form}.json"
        if not recorded.exists():
            recorded.write_text(text)
            document = json.loads(path.read_text())
            document["versions"].append(form)
            path.write_text(_pretty(document))
            return
        if recorded.read_text() == text:
            return


def _pretty(document: JsonValue) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _entry(server: KnownServer, version: str) -> dict[str, JsonValue]:
    start, package = server.start, f"{server.package.name}@{version}"
    more = [word for beside in start.with_ for word in ("--with", beside)]
    command = ["npx", "-y", package] if server.package.registry == "npm" else ["uvx", *more, package]
    return {
        "command": command[0],
        "args": [*command[1:], *start.args],
        "env": dict(start.env),
        "sandbox": {"filesystem": {"allowWrite": ["."]}},
    }


if __name__ == "__main__":
    sys.exit(main(dict(word.split("=", 1) for word in sys.argv[1:])))
