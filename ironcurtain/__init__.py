"""IronCurtain: plain-English rules for AI agents' tool calls, as a verified OPA bundle.

`Policy` is the whole public surface for people who embed it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ironcurtain.policy import Policy

__all__ = ["Policy"]


def __getattr__(name: str) -> object:
    # Loaded on first use: the command line shows its help without loading an engine client.
    if name == "Policy":
        from ironcurtain.policy import Policy  # noqa: PLC0415 - see above

        return Policy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
