"""What a bundle was made from, by the place that it lies in: whoever can change that changes the next policy.

Nothing is read, so it holds for whatever the files hold, also before they are there: a list that somebody
else puts into a project counts in the next compile like one that the project's author wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ironcurtain.bundle.published import PROVENANCE
from ironcurtain.servers.fetched.lock import lock_of
from ironcurtain.settings import FILE_NAME, Settings, find_settings

_ANSWERS = "answers.yaml"
_WAIVERS = "waivers.yaml"
_USUAL = Settings.model_construct()
_WRITTEN = (
    FILE_NAME,
    _USUAL.constitution,
    _USUAL.servers,
    str(lock_of(Path(_USUAL.servers))),
    _USUAL.scenarios,
    _USUAL.lists,
    _USUAL.confirmations,
    _USUAL.guarantees,
    _USUAL.diff_approvals,
    _USUAL.questions,
    _ANSWERS,
    _WAIVERS,
)


def usual_files(directory: Path) -> list[Path]:
    """Return what the project around a directory is made of, there or not, by its usual names."""
    settings = find_settings(directory)
    project = settings.parent if settings is not None else directory
    return [project / name for name in (*_WRITTEN, _USUAL.output)]


def origin(bundle: Path, sources: Iterable[str]) -> list[Path]:
    """Return the files and directories that a bundle was made from and published with.

    A published bundle lies beside `provenance.json`, in the project's output directory; its project is the
    nearest directory above with an `ironcurtain.toml`, else the one that holds the output directory.

    Args:
        bundle: Bundle directory or `.tar.gz`.
        sources: Places of its clauses as the bundle records them, `FILE:LINE`, relative to the project.

    Returns:
        Absolute paths, whether there is something or not; none for a bundle that lies in no project.
    """
    folder = bundle.absolute().parent
    output = folder if (folder / PROVENANCE).is_file() else None
    settings = find_settings(folder)
    if settings is None and output is None:
        return []
    project = settings.parent if settings is not None else folder.parent
    constitutions = [project / source.rpartition(":")[0] for source in sources]
    return [
        *(project / name for name in _WRITTEN),
        *(path for path in dict.fromkeys(constitutions) if path.is_file()),
        *([output] if output not in (None, project) else []),
    ]
