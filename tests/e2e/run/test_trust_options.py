"""Every command that reads a bundle takes the same demands on it, and works with no other bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.program import SHIPPED, Inside, assert_clear

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.signing.keys import new_key

CALL = ("filesystem", "read_text_file", '{"path": "/a"}')
COMMANDS = {
    "advise": ("advise", str(SHIPPED), "--audit", "none"),
    "attack": ("attack", str(SHIPPED)),
    "coverage": ("coverage", "--bundle", str(SHIPPED)),
    "decide": ("decide", "--bundle", str(SHIPPED), *CALL),
    "diff": ("diff", str(SHIPPED), str(SHIPPED)),
    "drift": ("drift", "--bundle", str(SHIPPED)),
    "explain": ("explain", "--bundle", str(SHIPPED), *CALL),
    "findings": ("findings", "--bundle", str(SHIPPED)),
    "forecast": ("forecast", str(SHIPPED), "--audit", "none"),
    "guarantees": ("guarantees", str(SHIPPED), "--file", str(SHIPPED.parents[1] / "guarantees.yaml")),
    "input": ("input", "--bundle", str(SHIPPED), *CALL),
    "matrix": ("matrix", str(SHIPPED)),
    "mutation": ("mutation", "--bundle", str(SHIPPED)),
    "narrow": ("narrow", str(SHIPPED)),
    "replay": ("replay", "--bundle", str(SHIPPED), "none"),
    "verify": ("verify", str(SHIPPED)),
}


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "key.pem"
    public = path.with_name("key.pub.pem")
    public.write_text(new_key(path, "ES256").public.pem)
    return public


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unsigned_bundle(command: str, inside: Inside, key: Path) -> None:
    assert_clear(inside(*COMMANDS[command], "--verify-key", str(key)), 3, "IC3103")


@pytest.mark.parametrize("command", COMMANDS)
def test_another_revision(command: str, inside: Inside) -> None:
    assert_clear(inside(*COMMANDS[command], "--expect-revision", "sha256:" + "0" * 64), 3, "IC3101")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_serial_number_without_a_key(command: str, inside: Inside) -> None:
    assert_clear(inside(*COMMANDS[command], "--min-serial", "1"), 2, "IC1001")


def test_diff_demands_the_key_of_the_old_bundle_but_not_the_revision_of_the_new(inside: Inside) -> None:
    revision = Bundle.read(SHIPPED).revision
    office = SHIPPED.parents[1] / "examples" / "office" / "generated" / "bundle"
    assert inside("diff", str(office), str(SHIPPED), "--expect-revision", revision).code == 1
    ended = inside("diff", str(SHIPPED), str(office), "--expect-revision", revision)
    assert_clear(ended, 3, "IC3101")
