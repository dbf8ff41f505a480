"""The world that a report about a policy assumes: that of its scenarios."""

from __future__ import annotations

from pathlib import Path

from ironcurtain.errors import UsageError
from ironcurtain.model.scenarios import DescribedWorld, Scenarios
from ironcurtain.system.files import load

_BESIDE = "test-scenarios.json"
_PLAIN = DescribedWorld(sandbox="/home/user/sandbox")
_NONE = Scenarios(format="ironcurtain/scenarios/v1", world=_PLAIN, scenarios=())


def assumed_world(bundle: str, given: str | None) -> DescribedWorld:
    """Return the world of a scenarios file, of the one beside a bundle, or a plain one with a sandbox.

    Raises:
        UsageError: If the file that was named does not exist.
    """
    return assumed_scenarios(bundle, given).world


def assumed_scenarios(bundle: str, given: str | None) -> Scenarios:
    """Return a scenarios file, the one beside a bundle, or no scenarios in a plain world with a sandbox.

    Raises:
        UsageError: If the file that was named does not exist.
    """
    if given is not None and not Path(given).exists():
        raise UsageError("no scenarios: the file does not exist", where=given)
    path = Path(given) if given else Path(bundle).absolute().parent / _BESIDE
    return load(path, Scenarios) if path.exists() else _NONE
