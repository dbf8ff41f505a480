"""What a proxy runs: its own code, the libraries and the interpreter behind it, and other programs.

Rules that let a tool write there would let it decide in the proxy's place at the next start.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path

import ironcurtain
from ironcurtain.system.programs import ProgramSearch

_CODE = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
"""What Python calls the places of its library, of installed packages and of their commands."""


def places_that_run(sandbox: str | None) -> list[Path]:
    """Return where programs and code lie that we run ourselves, as far as we can write there.

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
