from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.records.signing import Scene, scene

from ironcurtain.bundle.signing.keys import SigningAlgorithm


@pytest.fixture(scope="module", params=["ES256", "RS256"])
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    algorithm: SigningAlgorithm = request.param
    return scene(tmp_path_factory.mktemp("release"), algorithm)


@pytest.fixture
def tripwire(tmp_path: Path) -> Path:
    """Return an OPA that leaves a trace when it is started."""
    program = tmp_path / "opa"
    program.write_text(f'#!/bin/sh\ntouch "{tmp_path}/started"\nexec "{shutil.which("opa")}" "$@"\n')
    program.chmod(0o755)
    return program
