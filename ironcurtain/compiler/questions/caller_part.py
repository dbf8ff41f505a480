"""What questions tell of the caller: the facts that the project declares about them."""

from __future__ import annotations

from collections.abc import Mapping

from ironcurtain.compiler.questions.templates import as_data, fill
from ironcurtain.model.caller_facts import CallerFact


def caller_part(caller: Mapping[str, CallerFact]) -> str:
    """Return the end of a prompt that tells what is declared about the caller; empty where nothing is."""
    if not caller:
        return ""
    shown = {key: fact.model_dump(mode="json", by_alias=True) for key, fact in sorted(caller.items())}
    parts = [fill("caller", caller=as_data(shown))]
    if any(fact.role is not None for fact in caller.values()):
        parts.append(fill("caller_identifiers"))
    return "".join(f"\n\n{part}" for part in parts)
