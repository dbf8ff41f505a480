"""The programs that we run ourselves: found once, by absolute path, where neither tools nor others write.

Whatever a tool or a server can write, it can plant: a directory of PATH that lies in the sandbox (an
activated virtual environment, `node_modules/.bin`) is passed over, and one that another user could change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ironcurtain.system.ownership import places_on_the_way, weakness
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible


class ProgramSearch(Struct):
    """Where programs are looked for, and what tools and servers can write.

    Attributes:
        path: The directories, as PATH has them.
        reachable: Real paths of directories that tools or servers can write, whatever is in them.
    """

    path: str = os.defpath
    reachable: tuple[Path, ...] = ()

    @classmethod
    def own(cls, reachable: Iterable[Path] = ()) -> ProgramSearch:
        """Return a search of our own PATH."""
        return cls(os.environ.get("PATH", os.defpath), tuple(reachable))

    def directories(self) -> tuple[Path, ...]:
        """Return the directories that programs are taken from."""
        # A relative entry would mean another program in every directory.
        entries = [Path(entry) for entry in dict.fromkeys(self.path.split(os.pathsep)) if entry[:1] == "/"]
        return tuple(entry for entry in entries if entry.is_dir() and self.refusal(entry) is None)

    def changeable(self, home: Path) -> list[Path]:
        """Return those of the directories that we ourselves can write, and so could a tool that rules let.

        What holds the home is left out: it is no directory of programs.
        """
        above = {home, *home.parents}
        return [
            directory
            for directory in self.directories()
            if directory not in above and os.access(directory, os.W_OK)
        ]

    def safe_path(self) -> str:
        """Return a PATH of those directories alone."""
        return os.pathsep.join(map(str, self.directories())) or os.defpath

    def candidates(self, name: str) -> Iterable[tuple[Path, str | None]]:
        """Yield every program of that name, and why it is not to be run, or None if it may be."""
        for entry in dict.fromkeys(self.path.split(os.pathsep)):
            program = Path(entry) / name
            if program.is_absolute() and program.is_file() and os.access(program, os.X_OK):
                yield program, self.refusal(program)

    def find(self, name: str) -> Path | None:
        """Return the first program of that name that may be run, None if there is none."""
        return next((program for program, refused in self.candidates(name) if refused is None), None)

    def passed_over(self, name: str) -> str:
        """Say why no program of that name is taken although there are some; nothing if there is none."""
        refused = [f"{visible(str(program))}: {why}" for program, why in self.candidates(name) if why]
        return f"is passed over ({'; '.join(refused)})" if refused else ""

    def reaches(self, place: Path) -> bool:
        """Tell whether tools or servers can write a path, or what the kernel passes on the way to it.

        Raises:
            OSError: If it cannot be looked at.
        """
        roots = self.reachable
        return any(p == root or root in p.parents for p in places_on_the_way(place) for root in roots)

    def refusal(self, place: Path) -> str | None:
        """Return why what stands there is not to be run, or None if it may be: the whole way there counts."""
        try:
            return "tools or servers can write there" if self.reaches(place) else weakness(place)
        except OSError as error:
            return f"it cannot be looked at ({error.strerror})"
