"""The extras: packages that only some commands need, and the error that names the one that is missing."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from importlib import metadata

from ironcurtain.errors import ExtraMissingError

MODULES = {
    "agents": "openai-agents",
    "anthropic": "anthropic",
    "google": "google",
    "h11": "mcp",
    "httpx2": "mcp",
    "jinja2": "web",
    "keyring": "keyring",
    "langchain": "langchain",
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

_NEED = re.compile(r"(?P<need>(?P<name>[\w.-]+)[^;]*); extra == '(?P<extra>[\w-]+)'")


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


def how_to_install(extra: str) -> str:
    """Return the command that installs what an extra lacks, in the environment that runs this.

    It names the packages: IronCurtain itself is there, whatever it was installed from.
    """
    try:
        needs = [each for text in metadata.requires("ironcurtain") or () if (each := _NEED.fullmatch(text))]
    except metadata.PackageNotFoundError:
        return f"install the packages of the extra `{extra}` (pyproject.toml)"
    of_extra = [each for each in needs if each["extra"] == extra]
    lacking = [each for each in of_extra if not _is_there(each["name"])]
    # Something may be there, and broken.
    packages = shlex.join(each["need"].strip() for each in lacking or of_extra)
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {python} {packages}"
    return f"{python} -m pip install {packages}"


def _is_there(distribution: str) -> bool:
    try:
        metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


def _missing(extra: str) -> ExtraMissingError:
    return ExtraMissingError(
        f"this needs the extra `{extra}`, which is not installed", hint=how_to_install(extra)
    )
