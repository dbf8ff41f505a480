"""The one place where a command loads what it needs to run.

`cli/<group>/<name>.py` only declares a command: its options, its help. What it does stands in
`run_<name>.py` beside it, which may import the engine's client, schema validators and the compiler, and is
imported here when the command really runs. So `--help` and mistakes in options cost almost nothing.
"""

from __future__ import annotations

import gc
import importlib
from types import ModuleType

from ironcurtain.errors import Exit


def load(name: str) -> ModuleType:
    """Import `run_<name>` of a group: `review.verify` is `ironcurtain.cli.review.run_verify`."""
    # What is imported stays: looking for garbage in it again and again costs a fifth of a start.
    collecting = gc.isenabled()
    gc.disable()
    try:
        group, _, command = name.partition(".")
        return importlib.import_module(f"ironcurtain.cli.{group}.run_{command}")
    finally:
        if collecting:
            gc.enable()


def run(name: str, function: str = "run", /, **options: object) -> Exit:
    """Do what a command does: call a function of its `run_<name>` with the command's options."""
    status: Exit = getattr(load(name), function)(**options)
    return status
