"""Somebody who can write the log's directory puts an older log back with its head, or removes both.

Held by: a witness outside the log's directory; without one, `verify` says that it cannot know.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from e2e.program import in_process
from support.deployments.faulty import OWN
from support.deployments.proxied import Place

pytestmark = pytest.mark.timeout(600)


async def _session(place: Place, text: str) -> None:
    async with place.client("--witness", str(place.root / "witness")) as client:
        assert not (await client.call_tool("fix__echo", {"text": text})).is_error


def _verified(place: Place, *options: str) -> tuple[int, str]:
    done = in_process("audit", "verify", "test", *options, cwd=place.root, HOME=str(place.home))
    return done.code, done.out


def _older(audit: Path, kept: Path) -> None:
    shutil.rmtree(audit)
    shutil.copytree(kept, audit)


def _removed(audit: Path, _: Path) -> None:
    (audit / "test.jsonl").unlink()
    (audit / "heads" / "test.json").unlink()


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("told").resolve())
    anyio.run(_session, place, "one")
    shutil.copytree(place.home / OWN / "audit", place.root / "kept")
    anyio.run(_session, place, "two")
    return place


@pytest.mark.parametrize("attack", [_older, _removed])
def test_a_log_that_is_not_the_newest(told: Place, attack: Callable[[Path, Path], None]) -> None:
    witness = ("--witness", str(told.root / "witness"))
    audit, safe = told.home / OWN / "audit", told.root / "safe"
    code, said = _verified(told, *witness)
    assert (code, "not known" in said) == (0, False)
    shutil.copytree(audit, safe)
    try:
        attack(audit, told.root / "kept")
        if attack is _older:
            # By itself it is whole, and that is all that there is to know.
            code, said = _verified(told)
            assert code == 0
            assert "not known: whether it is an older log" in said
        code, said = _verified(told, *witness)
        assert code == 1
        assert "witness knows of" in said
        # Nor does a proxy go on in it.
        with pytest.raises(BaseExceptionGroup):
            anyio.run(_session, told, "three")
        assert "witness knows of" in told.said
    finally:
        shutil.rmtree(audit)
        safe.rename(audit)


def test_forged_receipts_change_nothing(told: Place) -> None:
    """A receipt counts only if it was written with the log's key."""
    witness = told.root / "witness"
    before = witness.read_bytes()
    last = json.loads(before.splitlines()[-1])
    forged = {**last, "count": last["count"] + 5}
    witness.write_bytes(before + json.dumps(forged).encode() + b"\nnonsense\n\xff\n")
    try:
        assert _verified(told, "--witness", str(witness))[0] == 0
    finally:
        witness.write_bytes(before)
