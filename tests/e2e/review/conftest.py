"""What the tests of the gate share: a project that passes it, until a test changes something."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def waived(project: Path, waivers: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current directory: the tiny project, in which what stands out is waived."""
    (project / "waivers.yaml").write_text(waivers)
    monkeypatch.chdir(project)
    return project
