"""The extras: packages that only some commands need, and the error that names the one that is missing."""

from __future__ import annotations

import importlib.util

from ironcurtain.errors import ExtraMissingError

MODULES = {
    "anthropic": "anthropic",
    "google": "google",
    "h11": "mcp",
    "httpx2": "mcp",
    "jinja2": "web",
    "keyring": "keyring",
    "lsprotocol": "lsp",
    "mcp": "mcp",
    "mcp_types": "mcp",
    "openai": "openai",
    "opentelemetry": "otel",
    "prompt_toolkit": "agent",
    "pydantic_ai": "agent",
    "pygls": "lsp",
    "redis": "redis",
    "starlette": "mcp",
    "uvicorn": "mcp",
    "uvloop": "mcp",
    "webauthn": "web",
}
"""By top-level module: the extra that brings it to where it is used."""


def missing_extra(error: BaseException) -> ExtraMissingError | None:
    """Return the error that names the extra whose module was not found; None for any other failure."""
    if not isinstance(error, ModuleNotFoundError):
        return None
    extra = MODULES.get((error.name or "").partition(".")[0])
    return _missing(extra) if extra is not None else None


def need(module: str) -> None:
    """Refuse to go on without the extra that brings a module, which is not loaded.

    Raises:
        ExtraMissingError: If the module is not installed.
    """
    if importlib.util.find_spec(module) is None:
        raise _missing(MODULES[module])


def _missing(extra: str) -> ExtraMissingError:
    return ExtraMissingError(
        f"this needs the extra `{extra}`, which is not installed", hint=f"pip install 'ironcurtain[{extra}]'"
    )
