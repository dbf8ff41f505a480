"""What a compile publishes beside the bundle, by name; a command's help needs no more to be loaded."""

from __future__ import annotations

SIGNED_ARCHIVE = "bundle.signed.tar.gz"
"""The signed archive; the unsigned one beside it is what everybody can make again."""
