"""Writing the files of a new project, before any stage: `ironcurtain init`, offline.

What is there already is never touched, so a second run changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ironcurtain.errors import FileError

_STARTER = Path(__file__).parent / "starter"

FILES = {
    "constitution.md": "constitution.md",
    "mcp-servers.json": "mcp-servers.json",
    "tools/filesystem.json": "filesystem.json",
    "scenarios.yaml": "scenarios.yaml",
    "ironcurtain.toml": "ironcurtain.toml",
    "ci/ironcurtain.sh": "ci.sh",
    ".gitignore": "gitignore",
}
"""Place in the project, by name of the starter file."""

NEXT = (
    ("ironcurtain lint", "see what stands out in the constitution"),
    ("ironcurtain compile --saved-tools", "make a policy of it; it asks questions on the way"),
    ("ironcurtain verify generated/bundle", "check the policy against the scenarios"),
)
"""The next three commands, and what each is for."""

_PROGRAMS = {"ci.sh"}


@dataclass(frozen=True)
class Written:
    """What `init` did.

    Attributes:
        written: Files that are new.
        kept: Files that were there, and stay as they were.
    """

    written: tuple[str, ...]
    kept: tuple[str, ...]


def init(directory: Path) -> Written:
    """Write each starter file that is not there yet; the directory is made where it is missing.

    Raises:
        FileError: If something that is no directory stands in the way.
    """
    written: list[str] = []
    kept: list[str] = []
    for target, source in FILES.items():
        mode = 0o755 if source in _PROGRAMS else 0o644
        new = _write_new(directory / target, (_STARTER / source).read_bytes(), mode)
        (written if new else kept).append(target)
    return Written(tuple(written), tuple(kept))


def _write_new(path: Path, data: bytes, mode: int) -> bool:
    """Write a file only if nothing has its name; tell whether it was written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("xb")
    except FileExistsError:
        if not path.parent.is_dir():
            raise FileError(
                "this is no directory", where=str(path.parent), hint="Choose another place."
            ) from None
        return False
    except NotADirectoryError:
        raise FileError("a part of this path is no directory", where=str(path.parent)) from None
    try:
        with stream:
            stream.write(data)
    except BaseException:
        path.unlink()  # half a file would be kept by the next run
        raise
    path.chmod(mode)
    return True
