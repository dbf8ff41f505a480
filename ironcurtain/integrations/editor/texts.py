"""The texts that an editor shows, saved or not; all others are read from disk."""

from __future__ import annotations

from pathlib import Path

from ironcurtain.errors import FileError
from ironcurtain.system.files import has_content, read_text


class Texts:
    """The open documents by their absolute paths."""

    def __init__(self, opened: dict[Path, str] | None = None) -> None:
        self._opened = {} if opened is None else opened

    def snapshot(self) -> Texts:
        """Return the texts as they are now, for work beside further typing."""
        return Texts(dict(self._opened))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The open documents, in the order in which they were opened."""
        return tuple(self._opened)

    def show(self, path: Path, text: str) -> None:
        """Take the text of an open document."""
        self._opened[path] = text

    def close(self, path: Path) -> None:
        """Take a document from disk from now on."""
        self._opened.pop(path, None)

    def has(self, path: Path) -> bool:
        """Tell whether a document says something."""
        return bool(self._opened[path].strip()) if path in self._opened else has_content(path)

    def read(self, path: Path) -> str:
        """Return the text of a document.

        Raises:
            FileError: If it is blank, or cannot be read.
        """
        if path not in self._opened:
            return read_text(path)
        if not self._opened[path].strip():
            raise FileError("the file is empty", where=str(path))
        return self._opened[path]

    def shown(self, path: Path) -> str:
        """Return the text that places are counted in: of a document that cannot be read, none."""
        if path in self._opened:
            return self._opened[path]
        try:
            return read_text(path)
        except FileError:
            return ""
