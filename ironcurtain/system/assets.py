"""The files that ship beside the code: Rego, the engine's pin, schemas, pages of errors, known servers.

In a checkout they stand at the top of the repository; in an installed wheel, inside the package.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_INSTALLED = _PACKAGE / "_assets"
_ROOT = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent

REGO: Path = _ROOT / "rego"
"""The hand-written Rego packages (`rego/`)."""

OPA: Path = _ROOT / "opa"
"""The engine's pin, capabilities, server configuration and authorisation policy (`opa/`)."""

SCHEMAS: Path = _ROOT / "schemas"
"""The JSON Schemas generated from our models (`schemas/`)."""

DOCS: Path = _ROOT / "docs"
"""The pages that diagnostics refer to (`docs/`); a wheel holds those alone."""

ERRORS: Path = DOCS / "errors"
"""The page of each error, `<code>.md` (`docs/errors/`)."""

KNOWN_SERVERS: Path = _ROOT / "known-servers"
"""The tool lists and annotations of well-known MCP servers (`known-servers/`)."""
