"""IronCurtain: plain-English rules for AI agents' tool calls, as a verified OPA bundle.

For programs of your own: `Policy` decides, a `Call` goes in and a `Decision` with a `Verdict` comes out.
What cannot be used raises an `IronCurtainError`, one of `ironcurtain.errors`. docs/library.md shows how.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ironcurtain import errors
    from ironcurtain.decision.decide import Call
    from ironcurtain.errors import IronCurtainError
    from ironcurtain.model.decision import Decision, ResourceDecision
    from ironcurtain.model.verdict import Verdict
    from ironcurtain.policy import Policy

__all__ = ["Call", "Decision", "IronCurtainError", "Policy", "ResourceDecision", "Verdict", "errors"]

_PLACES = {
    "Call": "ironcurtain.decision.decide",
    "Decision": "ironcurtain.model.decision",
    "IronCurtainError": "ironcurtain.errors",
    "Policy": "ironcurtain.policy",
    "ResourceDecision": "ironcurtain.model.decision",
    "Verdict": "ironcurtain.model.verdict",
}


def __getattr__(name: str) -> object:
    # Loaded on first use: the command line shows its help without loading an engine client.
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    if name == "errors":
        return import_module("ironcurtain.errors")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    # For interactive shells and for what makes the reference of the API: `__getattr__` alone tells no names.
    return sorted({*globals(), *__all__})
