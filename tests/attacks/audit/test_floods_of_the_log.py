"""An agent makes large calls to fill the disk with their records, so that nothing is recorded any more.

Held by: digest and size in the place of what is large in refused calls, and a limit of the session's log
that is told before it is reached. At the limit calls are refused, and the log says so.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.program import program
from mcp import Client
from support.deployments.proxied import Place, text_of, until, visit_all
from support.projects.policies import rule

from ironcurtain.enforcement.audit.log_paths import session_log
from ironcurtain.enforcement.audit.reader import verify

pytestmark = pytest.mark.timeout(600)
MEGABYTE = 1_000_000
LIMIT = 5 << 20


def _log(place: Place) -> Path:
    return place.home / ".ironcurtain" / "audit" / "test.jsonl"


async def _refused_writes(client: Client, place: Place) -> None:
    before = _log(place).stat().st_size
    for number in range(150):
        text = f"{number:03d}" + "x" * (MEGABYTE - 3)
        assert (await client.call_tool("fix__echo", {"text": text, "path": "/etc/x"})).is_error
    assert _log(place).stat().st_size - before < 150 * 4_000
    last = place.decisions[-1]
    assert last["arguments"]["path"] == "/etc/x"
    assert last["arguments"]["text"].startswith("[redacted:")
    assert last["arguments"]["text"].endswith(", 1,000,000 characters]")
    assert last["redacted"] == ["/arguments/text"]
    assert len({record["raw_digest"] for record in place.decisions}) == 150


async def _many_values(client: Client, place: Place) -> None:
    before = _log(place).stat().st_size
    given = {"text": "a", "data": {f"key-{number}": "value" for number in range(30_000)}}
    assert (await client.call_tool("fix__echo", given)).is_error
    assert _log(place).stat().st_size - before < 8_000
    last = place.decisions[-1]
    assert (last["arguments"], last["subjects"]) == (None, [])
    assert last["omitted"] > 500_000


async def _long_names(client: Client, place: Place) -> None:
    before = _log(place).stat().st_size
    assert (await client.call_tool("fix__" + "x" * 500_000, {})).is_error
    assert (await client.call_tool("fix__echo", {"y" * 500_000: 1})).is_error
    assert _log(place).stat().st_size - before < 16_000


VISITS = {"refused writes": _refused_writes, "many values": _many_values, "long names": _long_names}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    place = Place(tmp_path_factory.mktemp("flood").resolve())
    place.publish([rule("notes", "allow", paths={"roles": ["read-path"], "within": ["~/notes"]})], ["fix"])
    return visit_all(place, VISITS, up=["fix"])


@pytest.mark.parametrize("visit", VISITS)
def test_a_flood_of_refused_calls(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]


async def _fill(client: Client, place: Place) -> None:
    board = place.home / ".ironcurtain" / "status" / "test.json"

    def told(name: str) -> str:
        return json.loads(board.read_text())[name] if board.is_file() else ""

    for _ in range(4):
        assert not (await client.call_tool("fix__echo", {"text": "x" * MEGABYTE})).is_error
    assert not told("notice")
    assert not (await client.call_tool("fix__echo", {"text": "x" * MEGABYTE})).is_error
    assert "--audit-limit" in await until(lambda: told("notice"))
    assert not told("trouble")
    await until(lambda: "of at most 5 MiB" in place.said)
    assert not (await client.call_tool("fix__echo", {"text": "x" * MEGABYTE})).is_error
    for _ in range(2):
        refused = await client.call_tool("fix__echo", {"text": "small"})
        assert refused.is_error
        assert "record" in text_of(refused)
    assert "is full" in await until(lambda: told("trouble"))
    await until(lambda: place.ends() == ["ok"] * 6)


def test_a_log_that_reaches_its_limit(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    options = ("--audit-limit", str(LIMIT))
    for error in visit_all(place, {"fill": _fill}, *options, up=["fix"]).values():
        raise error
    assert len(place.sent()) == len(place.decisions) == 6
    assert all(len(record["arguments"]["text"]) == MEGABYTE for record in place.decisions)
    assert [each["event"] for each in place.records() if each["kind"] == "event"].count("full") == 1
    found = verify(session_log(_log(place).parent, "test"), key=None)
    assert found.intact
    again = program(*place.command(*options)[3:], cwd=place.root, HOME=str(place.home))
    assert again.code != 0
    assert "the audit log is full" in again.err
    assert "--session" in again.err
