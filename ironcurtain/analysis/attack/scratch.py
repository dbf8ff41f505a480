"""The scratch directory in which real servers are attacked: a home, a sandbox, and marked files in each.

A file that is read shows in its mark, one that is changed in its content.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.analysis.attack.spellings.spelling import Links
from ironcurtain.decision.canonical.paths import is_within

_NAMES = ("note.txt", "deep/note.txt")
_BESIDE = "beside"


@dataclass(frozen=True)
class Scratch:
    """A scratch directory.

    Attributes:
        root: The directory.
        places: By directory of the described world, the one that stands for it.
        home: The home in it; `sandbox` the sandbox.
    """

    root: Path
    places: Mapping[str, str]
    home: str
    sandbox: str

    @classmethod
    def of(cls, root: Path, home: str, sandbox: str) -> Scratch:
        """Return the scratch directory for a described home and sandbox."""
        at_home = str(root / "home")
        inside = f"{at_home}{sandbox.removeprefix(home)}" if is_within(sandbox, home) else str(root / "work")
        return cls(root, {sandbox: inside, home: at_home}, at_home, inside)

    def files(self, directories: Iterable[str]) -> dict[str, str]:
        """Return the initial files by path: some in each directory and beside it."""
        wanted = [self.sandbox, self.home, f"{self.home}/{_BESIDE}", *directories]
        inside = [place for place in wanted if is_within(place, str(self.root))]
        paths = sorted({f"{place.rstrip('/')}/{name}" for place in inside for name in _NAMES})
        return {path: _mark(path) for path in paths}

    def restore(self, files: Mapping[str, str], links: Links) -> None:
        """Restore the directory to its initial state."""
        for place in (Path(self.home), Path(self.sandbox)):
            place.mkdir(parents=True, exist_ok=True)
            for child in place.iterdir():
                if child.is_symlink() or not child.is_dir():
                    child.unlink()
                elif str(child) != self.sandbox:
                    shutil.rmtree(child)
        for path, mark in files.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(mark)
        for link, target in links.symbolic.items():
            Path(link).parent.mkdir(parents=True, exist_ok=True)
            Path(link).symlink_to(target)

    def changed(self, files: Mapping[str, str]) -> Iterator[str]:
        """Yield the real paths that were added, removed or changed."""
        there = {str(path): path.read_text(errors="replace") for path in self._all() if path.is_file()}
        for path in sorted(there.keys() | files.keys()):
            if there.get(path) != files.get(path):
                yield path

    def _all(self) -> Iterator[Path]:
        yield from (path for path in self.root.rglob("*") if not path.is_symlink())


def marks_in(text: str, files: Mapping[str, str]) -> list[str]:
    """Return the files whose marks an answer shows."""
    return [path for path, mark in files.items() if mark in text]


def _mark(path: str) -> str:
    return f"mark-{hashlib.sha256(path.encode()).hexdigest()[:24]}"
