from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.browser import browser
from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the home of a person whom nobody has asked anything yet."""
    (tmp_path / ".ironcurtain").mkdir(mode=0o700)
    return tmp_path
