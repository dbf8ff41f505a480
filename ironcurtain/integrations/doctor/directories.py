"""Directories that need not be there yet: whether something could be written in them."""

from __future__ import annotations

import os
from pathlib import Path


def nearest_existing(place: Path) -> Path:
    """Return a place, or the nearest of its parents that exists."""
    absolute = place.absolute()
    return next(path for path in (absolute, *absolute.parents) if os.path.lexists(path))


def is_writable(place: Path) -> bool:
    """Tell whether a place is a directory in which we may make files."""
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)
