"""What a compile publishes beside the bundle, by name; a command's help needs no more to be loaded."""

from __future__ import annotations

TEST_SCENARIOS = "test-scenarios.json"
"""All scenarios that the policy was verified with."""

PROVENANCE = "provenance.json"
"""The statement of where the archives came from."""

SIGNED_ARCHIVE = "bundle.signed.tar.gz"
"""The signed archive; the unsigned one beside it is what everybody can make again."""
