"""How the directories that a policy speaks of lie to each other, and whether they still do.

Verification assumes a home and a sandbox and proves a policy under the relations of its directories
there. `~/Documents` being a symlink to `~/Downloads`, or a sandbox inside `~/Documents`, would be
another policy. So the bundle records the forest, and loading refuses to run where it is another one.
Protected paths are not recorded: wherever they lie, they only ever tighten.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.decision.canonical.paths import is_within
from ironcurtain.errors import BundleRelationError
from ironcurtain.system.text import visible

SANDBOX = "the sandbox"
APART = "apart"


def forest(places: Mapping[str, str]) -> dict[str, str]:
    """Return for each label how its directory lies: `apart`, `inside LABEL` or `equal to LABEL`.

    Args:
        places: Real absolute directory by label (a pattern as written, or `the sandbox`).
    """
    ordered = sorted(places.items(), key=lambda item: (item[1].rstrip("/").split("/"), item[0]))
    relations: dict[str, str] = {}
    open_: list[tuple[str, str]] = []
    for label, path in ordered:
        while open_ and not is_within(path, open_[-1][1]):
            open_.pop()
        if not open_:
            relations[label] = APART
        else:
            kind = "equal to" if open_[-1][1] == path else "inside"
            relations[label] = f"{kind} {open_[-1][0]}"
        if not open_ or open_[-1][1] != path:
            open_.append((label, path))
    return relations


def check_relations(recorded: Mapping[str, str], places: Mapping[str, str]) -> None:
    """Compare the recorded forest with the one here; labels that do not exist here are left out.

    Raises:
        BundleRelationError: Naming the first pair that lies differently.
    """
    here = forest({label: path for label, path in places.items() if label in recorded})
    assumed = _without(recorded, set(recorded) - set(here))
    for label in sorted(here):
        if here[label] != assumed[label]:
            raise BundleRelationError(
                f"the bundle was verified with {visible(label)} {visible(assumed[label])}, "
                f"but here it is {visible(here[label])}",
                hint="Move or unlink the directory, or compile the policy for this layout.",
            )


def _without(recorded: Mapping[str, str], missing: set[str]) -> dict[str, str]:
    """Drop labels from a recorded forest; what lay inside a dropped one lies inside its parent."""
    relations = dict(recorded)
    for label in missing:
        above = relations.pop(label)
        for other, relation in relations.items():
            if relation in (f"inside {label}", f"equal to {label}"):
                relations[other] = above
    return relations
