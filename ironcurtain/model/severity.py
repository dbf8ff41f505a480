"""How grave a finding or a problem is."""

from __future__ import annotations

from typing import Literal, get_args

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The severities, the gravest first."""
