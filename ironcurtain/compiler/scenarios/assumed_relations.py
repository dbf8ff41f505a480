"""How a policy's directories lie to each other in the world that its scenarios assume.

The bundle records it, and loading refuses to enforce the policy where they lie otherwise (specification 1.8).
"""

from __future__ import annotations

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.relations import SANDBOX, forest
from ironcurtain.model.scenarios import DescribedWorld


def assumed_relations(bundle: Bundle, world: DescribedWorld) -> dict[str, str]:
    """Return the forest of the bundle's path patterns and the sandbox in a described world."""
    policy = load_described(bundle, world)
    places = dict(policy.patterns.directories)
    sandbox = policy.boundaries("").sandbox
    if sandbox is not None:
        places[SANDBOX] = sandbox
    return forest(places)
