"""What a proxy is configured by, and the programs that it runs: nobody else may be able to change them."""

from __future__ import annotations

import os
import shlex
import site
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import ironcurtain
from ironcurtain.bundle.revision import MANIFEST
from ironcurtain.errors import FileError, UsageError
from ironcurtain.policy import Policy
from ironcurtain.system.ownership import check_all_own, check_own_bundle
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.text import visible


def check_configuration(files: Mapping[str, Path]) -> None:
    """See that nobody else can change what the proxy is configured by, before any of it is read.

    Every directory on the way is looked at, so what is opened afterwards is what was looked at.

    Args:
        files: Files, by what they are.

    Raises:
        FileError: Naming the first that is not there, or that others can write, and what mends it.
    """
    try:
        check_all_own((path, what) for what, path in files.items())
    except OSError as error:
        raise FileError(f"it cannot be looked at: {error.strerror}", where=str(error.filename)) from error


def check_sandbox(policy: Policy) -> None:
    """See that the session's working directory is one: a wrong name would be found out by no policy.

    Raises:
        UsageError: If there is no such directory, or we ourselves lie where tools or servers can write.
    """
    sandbox = policy.loaded.boundaries("").sandbox
    if sandbox is not None and not Path(sandbox).is_dir():
        raise UsageError(
            f"the sandbox {visible(sandbox)} is no directory",
            where="--sandbox",
            hint=f"Check the name, or make it: `mkdir -p {visible(shlex.quote(sandbox))}`.",
        )
    search = ProgramSearch(reachable=policy.reachable)
    for place in (Path(sys.prefix), Path(__file__).parents[2]):
        if search.reaches(place):
            raise UsageError(
                f"IronCurtain is installed in {visible(str(place))}, where tools or servers can write",
                where="--sandbox",
                hint="Install it elsewhere (`pipx install ironcurtain`), or give another directory.",
            )


def load_own(load: Callable[[], Policy], bundle: Path) -> Policy:
    """Return the policy of a bundle that is ours, or is vouched for by a signature or a revision.

    Raises:
        IronCurtainError: If it cannot be loaded, or others could have changed it.
    """
    try:
        check_own_bundle(bundle)
        unsafe: FileError | None = None
    except FileError as error:
        unsafe = error
    except OSError:
        unsafe = FileError("the bundle cannot be looked at", where=str(bundle), hint="Check the path.")
    policy = load()  # what is wrong with a bundle that is not there is its own error
    if unsafe is not None and not policy.trusted:
        raise unsafe
    return policy


Mark: TypeAlias = tuple[int, ...]
"""What tells one state of a bundle from another."""


def mark_of(bundle: Path) -> Mark | None:
    """Return what tells one state of a bundle from another without reading it; None while there is none."""
    try:
        found = (bundle / MANIFEST if bundle.is_dir() else bundle).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


_CODE = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
"""What Python calls the places of its library, of installed packages and of their commands."""


def places_that_run(sandbox: str | None) -> list[Path]:
    """Return where programs and code lie that we run ourselves, as far as we can write there.

    Rules that let a tool write there would let it decide in the proxy's place at the next start.
    What lies in the sandbox is not run, and so not kept from tools. What holds the home is left out.
    """
    session = (Path(os.path.realpath(sandbox)),) if sandbox is not None else ()
    home = Path.home()
    above = {home, *home.parents}
    places = [each for each in _installation() if each not in above and os.access(each, os.W_OK)]
    return [*places, *ProgramSearch.own(session).changeable(home)]


def _installation() -> set[Path]:
    package = Path(ironcurtain.__file__).parent
    paths = sysconfig.get_paths()
    found = {package, package.parent / "node_modules", *(Path(paths[name]) for name in _CODE)}
    found |= {Path(sys.executable), Path(os.path.realpath(sys.executable))}
    if sys.prefix != sys.base_prefix:  # a virtual environment holds nothing else
        found.add(Path(sys.prefix))
    if site.ENABLE_USER_SITE:
        found.add(Path(site.getusersitepackages()))
    return {place for place in found if place.exists()}
