"""Where an argument may point, in words: guidance in its description, where no keyword would be exact.

What an agent writes is not what is judged: paths are relative, symbolic links lead elsewhere, hosts have
many spellings. So places are described, never demanded.
"""

from __future__ import annotations

from ironcurtain.analysis.engine.rules.regions import Region, grouped
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.engine.values.witnesses import OUTSIDE
from ironcurtain.analysis.narrowing.live import Live
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

_SHOWN = 8
_DOING = {
    "read-path": "read",
    "write-path": "written",
    "delete-path": "deleted",
    "write-history": "changed in their history",
    "delete-history": "deleted from their history",
    "fetch-url": "fetched",
    "recipient": "sent to",
}


def describe_places(target: dict[str, JsonValue], source: int, space: CallSpace, live: Live) -> None:
    """Add to an argument's description what of it could be permitted.

    Args:
        target: The schema of the argument, or of its elements; changed in place.
        source: The argument's place among the tool's sources.
        space: The tool.
        live: What of it is live.
    """
    sentences = []
    cells = [cell for cell in space.cells.values() if any(home == source for home, _ in cell.homes)]
    for role in sorted({cell.role for cell in cells}):
        sentences += _sentences(role, [cell for cell in cells if cell.role == role], live)
    if sentences:
        own = target.get("description")
        known = f"{own} " if isinstance(own, str) and own else ""
        target["description"] = f"{known}{' '.join(sentences)}"


def _sentences(role: str, cells: list[EquivalenceClass], live: Live) -> list[str]:
    regions = [Region(chain, label, live.mildest(cell)) for cell in cells for chain, label in cell.regions]
    places = grouped(regions)
    if set(places) == {Verdict.ALLOW}:
        return []
    doing = _DOING.get(role, "used")
    if set(places) == {Verdict.ESCALATE}:
        return [f"May be {doing} with a person's approval only."]
    found = []
    if allowed := places.get(Verdict.ALLOW):
        found.append(f"May be {doing}: {_labels(allowed)}.")
    if asked := places.get(Verdict.ESCALATE):
        found.append(f"May be {doing} with a person's approval: {_labels(asked)}.")
    return found or [f"Nothing may be {doing}."]


def _labels(labels: tuple[str, ...]) -> str:
    named = dict.fromkeys("listed ones" if label.startswith("@") else visible(label) for label in labels)
    ordered = sorted(named, key=lambda label: (label == OUTSIDE, label))
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(ordered[:_SHOWN]) + more
