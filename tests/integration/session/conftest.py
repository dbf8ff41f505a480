"""What the tests of sessions share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from support.deployments.proxied import Place
from support.deployments.stage import Stage
from support.services.model_server import ANTHROPIC, Dialect, ModelServer


@pytest.fixture
def stage(tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stage]:
    place = Place(tmp_path)
    monkeypatch.setenv("HOME", str(place.home))

    def make(*script: Any, dialect: Dialect = ANTHROPIC) -> Stage:
        model = ModelServer(httpserver, dialect, list(script))
        for name, value in model.environment("test-key").items():
            monkeypatch.setenv(name, value)
        return Stage(place, model)

    return make
