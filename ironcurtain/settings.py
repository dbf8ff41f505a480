"""The settings of authoring commands: `ironcurtain.toml`, found upwards from the working directory.

Only commands that write policies read this file; commands that enforce one never take anything from the
working directory. Precedence (flag, environment, file, default) is click's own: `defaults` feeds a
command's `default_map`.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from pydantic import Field, ValidationError

from ironcurtain.errors import FormatError, Place, raise_all
from ironcurtain.files import read_text
from ironcurtain.model import jsontext
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.model.base import Frozen
from ironcurtain.text import quoted, visible

FILE_NAME = "ironcurtain.toml"
DEFAULT_HOSTS = ("bitbucket.org", "github.com", "gitlab.com")


class Settings(Frozen):
    """What `ironcurtain.toml` may say; paths are relative to the file.

    Attributes:
        lists: Named lists kept by hand.
        confirmations: What people confirmed about arguments and tools.
        custom: Directory of the project's own Rego modules.
        output: Directory that the result is published to.
        questions: Directory for questions that a person answers.
        model: `manual`, `anthropic:ID`, or the id of an Anthropic model.
        serial: Number of this policy for "not older than" checks.
        case_insensitive_hosts: Hosts whose path segments compare case-folded.
        roles: Identifier roles that the project adds.
    """

    constitution: str = "constitution.md"
    servers: str = "mcp-servers.json"
    scenarios: str = "scenarios.yaml"
    lists: str = "dynamic-lists.json"
    confirmations: str = "confirmations.yaml"
    custom: str | None = None
    output: str = "generated"
    questions: str = "questions"
    model: str = "manual"
    serial: int = Field(default=1, ge=0)
    case_insensitive_hosts: tuple[str, ...] = DEFAULT_HOSTS
    roles: tuple[IdentifierRole, ...] = ()


PATH_KEYS = (
    "constitution",
    "servers",
    "scenarios",
    "lists",
    "confirmations",
    "custom",
    "output",
    "questions",
)
"""The settings that are paths."""


def find_settings(start: Path) -> Path | None:
    """Return the nearest `ironcurtain.toml` at or above a directory, or None."""
    absolute = start.absolute()
    return next(
        (path for folder in (absolute, *absolute.parents) if (path := folder / FILE_NAME).is_file()), None
    )


def load_settings(path: Path | None) -> Settings:
    """Read settings; None gives the defaults.

    Raises:
        FileError: If the file cannot be read.
        FormatError: For each mistake; an unknown key with the key that was probably meant.
    """
    if path is None:
        return Settings()
    text = read_text(path)
    try:
        table = tomllib.loads(text)
        return Settings.model_validate_json(jsontext.canonical(table))
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"not valid TOML: {visible(str(error))}", where=str(path)) from None
    except ValidationError as error:
        raise_all([_mistake(details["loc"], details["msg"], text, path) for details in error.errors()])
        raise  # unreachable: a ValidationError holds at least one problem


def defaults(path: Path | None, settings: Settings) -> dict[str, str | int | None]:
    """Return the settings as values for click's `default_map`: paths made absolute against the file."""
    folder = path.parent if path else Path()
    values: dict[str, str | int | None] = {"model": settings.model, "serial": settings.serial}
    for key in PATH_KEYS:
        value = getattr(settings, key)
        values[key] = None if value is None else str(folder / value)
    return values


def _mistake(steps: tuple[str | int, ...], message: str, text: str, path: Path) -> FormatError:
    key = str(steps[0]) if steps else ""
    place = Place(str(path), _line(text, key))
    if key in Settings.model_fields:
        name = ".".join(str(step) for step in steps)
        return FormatError(f"{visible(name)}: {visible(message)}", where=place)
    near = difflib.get_close_matches(key, Settings.model_fields, n=1)
    hint = f"Did you mean {quoted(near[0])}?" if near else f"Known keys: {', '.join(Settings.model_fields)}."
    return FormatError(f"unknown key {quoted(key)}", where=place, hint=hint)


def _line(text: str, key: str) -> int | None:
    """Return the 1-based line on which a top-level key or table is set."""
    starts = (key, f"[[{key}]]", f"[{key}]")
    lines = (number for number, line in enumerate(text.splitlines(), 1) if line.strip().startswith(starts))
    return next(lines, None)
