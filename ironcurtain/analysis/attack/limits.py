"""How much an attack tries."""

from __future__ import annotations

MAXIMUM = 20_000
"""So many respelled calls are decided, unless somebody says otherwise."""
