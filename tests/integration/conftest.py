"""What the tests of compiles share."""

from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from support.projects.modelled import Place


@pytest.fixture
def place(threaded_server: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Return where a project with a model on loopback can stand."""
    threaded_server.clear()
    return Place(threaded_server, tmp_path, monkeypatch)
