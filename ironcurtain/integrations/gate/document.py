"""The files that a gate reads evidence from, as its reports name them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ironcurtain.system.files import read_text
from ironcurtain.system.yaml_text import place_of


@dataclass(frozen=True)
class Document:
    """A file that evidence was read from."""

    path: Path

    @property
    def shown(self) -> str:
        """Its path as reports show it: relative to the working directory where it lies there."""
        return shown_path(self.path)

    def line_of(self, list_key: str, number: int) -> int | None:
        """Return the 1-based line of an item of one of its lists."""
        return place_of(read_text(self.path), str(self.path), [list_key, number]).line


def shown_path(path: Path) -> str:
    """Return a path relative to the working directory where it lies there, else absolute."""
    absolute = path.absolute()
    here = Path.cwd()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else absolute.as_posix()
