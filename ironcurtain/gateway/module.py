"""Reading a module of tools: the file that `ironcurtain serve` is given.

The module is code of the team's own, as trusted as its policy: it runs in the gateway's process.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ironcurtain.errors import FileError, GatewayError, Place
from ironcurtain.gateway.definition import Tool
from ironcurtain.gateway.gateway import Gateway
from ironcurtain.system.ownership import check_own
from ironcurtain.system.text import visible

_read: dict[Path, Gateway] = {}


def load_gateway(path: Path) -> Gateway:
    """Run a module, once a process, and return its gateway: the one that it makes, or one of all its tools.

    Raises:
        FileError: If it cannot be read, or others could change it.
        GatewayError, SeveralErrors: With everything that is wrong with it, each with file and line.
    """
    place = path.absolute()
    if place not in _read:
        if not place.is_file():
            raise FileError("there is no such file", where=str(path), hint="Name a Python file of tools.")
        check_own(place, "the module of tools")
        _read[place] = _gateway_of(_run(place), path)
    gateway = _read[place]
    gateway.check()
    return gateway


def _run(place: Path) -> ModuleType:
    name = f"ironcurtain_tools_{place.stem}"
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise GatewayError("it is no Python module", where=str(place), hint="Name a file that ends with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Its own neighbours can be imported, and stand in the way of nothing else.
    if str(place.parent) not in sys.path:
        sys.path.append(str(place.parent))
    try:
        # Standard output may be the protocol's.
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except Exception as error:
        line = next(
            (
                frame.lineno
                for frame in reversed(traceback.extract_tb(error.__traceback__))
                if frame.filename == str(place)
            ),
            error.lineno if isinstance(error, SyntaxError) else None,
        )
        raise GatewayError(
            f"the module does not run: {type(error).__name__}: {visible(str(error))}",
            where=Place(str(place), line),
            hint="Run it with Python to see more.",
        ) from error
    return module


def _gateway_of(module: ModuleType, path: Path) -> Gateway:
    values = list(vars(module).values())
    gateways = list({id(each): each for each in values if isinstance(each, Gateway)}.values())
    if len(gateways) == 1:
        return gateways[0]
    if gateways:
        raise GatewayError(
            f"the module makes {len(gateways)} gateways", where=str(path), hint="Make one gateway a module."
        )
    tools = list({id(each): each for each in values if isinstance(each, Tool)}.values())
    name = path.stem.replace("_", "-")
    if not tools:
        raise GatewayError(
            "the module declares no tools", where=str(path), hint="Assign what define_tool returns to a name."
        )
    return Gateway(name, tools)
