"""What git is run with, so that no configuration but a test's own counts."""

from __future__ import annotations

import os
from pathlib import Path


def git_environment(home: Path) -> dict[str, str]:
    """Make a home directory, and return an environment whose git reads nothing outside it."""
    home.mkdir()
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@example.com",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@example.com",
    }
