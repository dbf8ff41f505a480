"""A contained server opens the web pages of the person whose calls it serves, to approve its own.

Held by: the network namespace of the sandbox, and its proxy, which lets no host through that is not declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.machines.contained import NEEDS_SANDBOX, Scene
from support.people.web import Web, web

pytestmark = [NEEDS_SANDBOX, pytest.mark.timeout(600)]
WAYS = ("raw_socket", "undeclared_domain")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "scene")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Web]:
    with web(tmp_path) as started:
        yield started


def test_a_server_reaches_the_port_of_the_pages_without_a_sandbox_and_not_with_one(
    scene: Scene, running: Web, tmp_path: Path
) -> None:
    free = Scene(tmp_path / "free").visit(*WAYS, port=running.port, sandbox=False)
    assert free.answers["raw_socket"] == "connected"
    assert "refused: 421" in free.answers["undeclared_domain"], "the pages refuse its host name"
    held = scene.visit(*WAYS, port=running.port)
    for way in WAYS:
        assert held.answers[way] != "connected"
        assert "421" not in held.answers[way], "it got an answer of the pages"
    assert "network-outbound 127.0.0.1" in held.violations
