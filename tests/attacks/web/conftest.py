"""What attacks on the web pages share: a home, and a call in it that waits for its person."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.people.web import ask
from support.records.approvals import written

from ironcurtain.enforcement.approvals.messages import ApprovalRequest


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return the home of a person."""
    (tmp_path / ".ironcurtain").mkdir(mode=0o700)
    return tmp_path


@pytest.fixture
def asked(home: Path) -> ApprovalRequest:
    """Return a request that waits in the home."""
    request = written("/srv/a.txt")
    ask(home, request)
    return request
