"""A plain OPA server, configured as its users do: signed bundles from a service or a file."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIMIT = 60.0


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("opa", timeout=LIMIT)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT)
        self.sock.connect(str(self._path))


@dataclass(frozen=True)
class PlainOpa:
    """A running OPA."""

    socket: Path
    log: Path
    process: subprocess.Popen[bytes]

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a request; return status and JSON."""
        connection = _Connection(self.socket)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content.strip() else None
        finally:
            connection.close()

    def decide(self, policy_input: Any) -> Any:
        """Return the policy's decision on an input; None where it has none."""
        answer = self.request("POST", "/v1/data/ironcurtain/decision/decision", {"input": policy_input})
        return answer[1].get("result")

    def serves(self) -> bool:
        """Tell whether all bundles are loaded."""
        try:
            return self.request("GET", "/health?bundles=true")[0] == 200
        except OSError:
            return False

    def says(self, words: str) -> bool:
        """Tell whether it has logged these words."""
        return words in self.log.read_text()

    def until(self, condition: Any) -> None:
        """Wait for a condition; fail with OPA's own words if it never comes true."""
        end = time.monotonic() + LIMIT
        while not condition():
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.02)


def configuration(key: dict[str, Any], *, url: str | None = None, file: Path | None = None) -> dict[str, Any]:
    """Return OPA's configuration for a bundle of a service, or of a file, that a key has to have signed.

    Args:
        key: What `ironcurtain key public --format json` prints.
        url: The bundle's address.
        file: The bundle's file.
    """
    (keyid,) = key
    bundle: dict[str, Any] = {
        "signing": {"keyid": keyid},
        "polling": {"min_delay_seconds": 1, "max_delay_seconds": 1},
    }
    if file is not None:
        return {"keys": key, "bundles": {"ironcurtain": {**bundle, "resource": file.as_uri()}}}
    assert url is not None
    service, _, resource = url.rpartition("/")
    return {
        "keys": key,
        "services": {"releases": {"url": service}},
        "bundles": {"ironcurtain": {**bundle, "service": "releases", "resource": resource}},
    }


@contextmanager
def plain_opa(config: dict[str, Any], *arguments: str) -> Iterator[PlainOpa]:
    """Run OPA with a configuration, and perhaps more arguments; it is stopped at the end."""
    program = shutil.which("opa")
    assert program is not None
    with tempfile.TemporaryDirectory(prefix="opa-") as name:
        directory = Path(name)
        (directory / "config.json").write_text(json.dumps(config))
        log = directory / "log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [
                    *(program, "run", "--server", "--addr", f"unix://{directory / 's'}"),
                    *("--config-file", "config.json", "--skip-version-check", "--log-level", "info"),
                    *arguments,
                ],
                cwd=directory,
                env={"PATH": "/usr/bin:/bin", "HOME": name},
                stdout=stream,
                stderr=stream,
            )
        with process:
            opa = PlainOpa(directory / "s", log, process)
            try:
                opa.until((directory / "s").exists)
                yield opa
            finally:
                process.kill()
