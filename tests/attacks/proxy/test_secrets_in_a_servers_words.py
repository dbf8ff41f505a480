"""A server writes secrets to its standard error and dies: they stand in no status, log or message of ours.

Held by: the list of names and forms of secrets, on everything that a server writes there, before it is kept.
"""

from __future__ import annotations

import json
from pathlib import Path

import anyio
from support.deployments.proxied import Place, until

WORDS = """import sys, time
sys.stderr.write('connecting with --password word-0123456789, {\\"token\\": \\"word-0123456789\\"}\\n')
for line in ('-----BEGIN PRIVATE KEY-----', 'word-0123456789', '-----END PRIVATE KEY-----'):
    sys.stderr.write(line + '\\n')
    sys.stderr.flush()
    time.sleep(0.2)
sys.stderr.write('postgres://me:word-0123456789@db/shop cannot be reached\\n')
sys.exit(1)
"""
SECRET = "word-0123456789"


def test_secrets_in_a_servers_words(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), {"hub": ["-c", WORDS]})
    board = place.home / ".ironcurtain" / "status" / "test.json"

    def reason() -> str:
        return json.loads(board.read_text())["servers"][0]["reason"] if board.is_file() else ""

    async def visit() -> None:
        async with place.client() as client:
            await client.list_tools()
            assert "cannot be reached" in await until(lambda: reason() if "reached" in reason() else "")
            assert SECRET not in board.read_text()

    anyio.run(visit)
    assert "[redacted]" in place.said
    assert SECRET not in place.said
    assert SECRET not in json.dumps(place.records())
