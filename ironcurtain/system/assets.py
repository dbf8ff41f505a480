"""The files that ship beside the code: Rego, the engine's pin, schemas, documents, known servers.

All but the known servers stand at the top of a checkout, and inside the package in an installed wheel.
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

KNOWN_SERVERS: Path = _PACKAGE / "compiler" / "known_servers"
"""The tool lists and annotations of well-known MCP servers (`compiler/known_servers/`)."""
