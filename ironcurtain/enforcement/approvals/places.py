"""Where approvals are kept."""

from __future__ import annotations

from pathlib import Path

from ironcurtain.system.configuration_directory import CONFIGURATION_DIRECTORY


def default_paths() -> tuple[Path, Path]:
    """Return the directory and the key that proxies and approvers share unless told otherwise.

    No environment variable but HOME moves them: what protects is not set by the environment.
    """
    own = Path.home() / CONFIGURATION_DIRECTORY
    return own / "approvals", own / "approvals.key"
