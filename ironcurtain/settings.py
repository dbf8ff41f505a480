"""The settings of authoring commands: `ironcurtain.toml`, found upwards from the working directory.

Only commands that write policies read this file; commands that enforce one never take anything from the
working directory. Precedence (flag, environment, file, default) is click's own: `defaults` feeds a
command's `default_map`.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from ironcurtain.errors import FormatError, Place, raise_all
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.model.caller_facts import CallerFact, CallerFactName
from ironcurtain.model.policy import Approver
from ironcurtain.system import json_text
from ironcurtain.system.configuration_directory import CONFIGURATION_DIRECTORY
from ironcurtain.system.files import has_content, read_text
from ironcurtain.system.frozen import Frozen, Slug, is_empty
from ironcurtain.system.text import did_you_mean, quoted, visible

FILE_NAME = "ironcurtain.toml"
USER_CONSTITUTION = "constitution-user.md"
_AT = re.compile(r"\(at line (\d+), column (\d+)\)$")
DEFAULT_HOSTS = ("bitbucket.org", "github.com", "gitlab.com")


class VerifySettings(Frozen):
    """What `ironcurtain verify` demands: the table `[verify]`.

    Attributes:
        scenarios: So many scenarios at least that somebody demanded; `tests` so many Rego tests.
        guarantees: So many guarantees at least; 0 asks for none, but those that are there must hold.
        matrix: Whether the golden decision matrix must be there; one that is there must be equal.
        findings: The least severity of findings that fail.
        coverage: The least coverage by scenarios, in percent.
        mutation: The least mutation score, in percent; it is measured only where this is given.
        attack: Whether calls are respelled, and none may get further than what it stands for.
        difference: `proved` demands that nothing else is loosened; with `sampled` it is enough that nothing
            was found.
    """

    scenarios: int = Field(default=1, ge=1)
    tests: int = Field(default=1, ge=1)
    guarantees: int = Field(default=0, ge=0)
    matrix: bool = False
    findings: Literal["error", "warning", "note"] = "error"
    coverage: float = Field(default=0, ge=0, le=100)
    mutation: float | None = Field(default=None, ge=0, le=100)
    attack: bool = False
    difference: Literal["proved", "sampled"] = "proved"


DirectoryName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$")]


class Settings(Frozen):
    """What `ironcurtain.toml` may say; paths are relative to the file.

    Attributes:
        user_constitution: The user's own guidance, which supersedes the constitution: a file, or true for
            `constitution-user.md` in the user's own directory. Off by default, so that a result can be
            compiled again elsewhere.
        lists: Named lists kept by hand.
        confirmations: What people confirmed about arguments and tools.
        custom: Directory of the project's own Rego modules.
        output: Directory that the result is published to.
        questions: Directory for questions that a person answers.
        model: `manual`, `anthropic:ID`, `openai:ID`, `google:ID`, or the id of an Anthropic model.
        judge_model: Who judges failed scenarios, if not `model`.
        second_model: Who answers in the second and later runs, if not `model`.
        intent: Whether a model writes scenarios of what the author means; the rules are held against them.
            Where nobody says, those are used that were written before and are kept.
        runs: How often the rules are compiled, to compare the results.
        serial: Number of this policy for "not older than" checks.
        case_insensitive_hosts: Hosts whose path segments compare case-folded.
        directories: Directories by the names that the constitution has for them, `~/…` or absolute.
        roles: Identifier roles that the project adds.
        approvers: Whose approval rules can ask for, by name: the tables `[approvers.NAME]`.
        caller: What rules may test of the caller, by key: the tables `[caller.KEY]`.
        guarantees: What the policy must never and must always do.
        diff_approvals: Changes that people approved.
        verify: What `ironcurtain verify` demands.
    """

    constitution: str = "constitution.md"
    user_constitution: bool | str = False
    servers: str = "mcp-servers.json"
    scenarios: str = "scenarios.yaml"
    lists: str = "dynamic-lists.json"
    confirmations: str = "confirmations.yaml"
    custom: str | None = None
    output: str = "generated"
    questions: str = "questions"
    model: str = "manual"
    judge_model: str | None = None
    second_model: str | None = None
    intent: bool | None = None
    runs: int = Field(default=1, ge=1, le=9)
    serial: int = Field(default=1, ge=0)
    case_insensitive_hosts: tuple[str, ...] = DEFAULT_HOSTS
    directories: dict[DirectoryName, str] = Field(default_factory=dict)
    roles: tuple[IdentifierRole, ...] = ()
    approvers: dict[Slug, Approver] = Field(default_factory=dict, exclude_if=is_empty)
    caller: dict[CallerFactName, CallerFact] = Field(default_factory=dict, exclude_if=is_empty)
    guarantees: str = "guarantees.yaml"
    diff_approvals: str = "diff-approvals.yaml"
    verify: VerifySettings = VerifySettings.model_construct()  # what checks them is built late


PATH_KEYS = (
    "constitution",
    "servers",
    "scenarios",
    "lists",
    "confirmations",
    "guarantees",
    "custom",
    "output",
    "questions",
)
"""The settings that are paths."""


def find_settings(start: Path) -> Path | None:
    """Return the nearest `ironcurtain.toml` at or above a directory, or None."""
    absolute = start.absolute()
    places = (folder / FILE_NAME for folder in (absolute, *absolute.parents))
    return next((path for path in places if path.is_file() and has_content(path)), None)


def load_settings(path: Path | None) -> Settings:
    """Read settings; None gives the defaults.

    Raises:
        FileError: If the file cannot be read.
        FormatError: For each mistake; an unknown key with the key that was probably meant.
    """
    return parse_settings(read_text(path), path) if path is not None else Settings()


def parse_settings(text: str, path: Path) -> Settings:
    """Read settings from the text of their file.

    Raises:
        FormatError: For each mistake, as `load_settings` does.
    """
    try:
        table = tomllib.loads(text)
        return Settings.model_validate_json(json_text.canonical(table))
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        place = Place(str(path), int(at[1]), int(at[2])) if at else Place(str(path))
        raise FormatError(f"not valid TOML: {visible(str(error))}", where=place) from None
    except RecursionError:
        raise FormatError("the tables and arrays are nested too deeply", where=str(path)) from None
    except ValidationError as error:
        raise_all([_mistake(details["loc"], details["msg"], text, path) for details in error.errors()])
        raise  # unreachable: a ValidationError holds at least one problem
    except ValueError as error:
        what = f"a value is of no kind that settings have: {visible(str(error))}"
        raise FormatError(what, where=str(path)) from None


def user_directory() -> Path:
    """Return the directory of the user's own files: IRONCURTAIN_HOME, or `~/.ironcurtain`."""
    return Path(os.environ.get("IRONCURTAIN_HOME") or Path.home() / CONFIGURATION_DIRECTORY)


def clients_directory() -> Path:
    """Return where the servers' files of wrapped clients are, a directory for each client's file."""
    return user_directory() / "clients"


def status_directory() -> Path:
    """Return where running proxies tell of themselves, in `SESSION.json` each."""
    return user_directory() / "status"


def narrowing_directory() -> Path:
    """Return where proxies of this user keep what policies leave of their tools, for the next start."""
    return user_directory() / "narrowing"


def state_directory() -> Path:
    """Return where proxies of this user keep what outlives their sessions: the totals of counters."""
    return user_directory() / "state"


def user_constitution(path: Path | None, settings: Settings) -> Path | None:
    """Return the file of the user's own guidance, which need not exist; None where it is switched off."""
    named = settings.user_constitution
    if isinstance(named, str):
        return (path.parent if path else Path()) / Path(named).expanduser()
    return user_directory() / USER_CONSTITUTION if named else None


def defaults(path: Path | None, settings: Settings) -> dict[str, str | int | None]:
    """Return the settings as values for click's `default_map`: paths made absolute against the file."""
    folder = path.parent if path else Path()
    values: dict[str, str | int | None] = {
        "model": settings.model,
        "judge_model": settings.judge_model,
        "second_model": settings.second_model,
        "intent": settings.intent,
        "runs": settings.runs,
        "serial": settings.serial,
    }
    for key in PATH_KEYS:
        value = getattr(settings, key)
        values[key] = None if value is None else str(folder / value)
    own = user_constitution(path, settings)
    # A file that is named must be there; the user's own one is there once somebody has written it.
    missing = settings.user_constitution is True and own is not None and not own.exists()
    values["user_constitution"] = None if own is None or missing else str(own)
    return values


def _mistake(steps: tuple[str | int, ...], message: str, text: str, path: Path) -> FormatError:
    key = str(steps[0]) if steps else ""
    place = Place(str(path), _line(text, key))
    if key in Settings.model_fields:
        name = ".".join(str(step) for step in steps)
        return FormatError(f"{visible(name)}: {visible(message)}", where=place)
    hint = did_you_mean(key, Settings.model_fields, f"Known keys: {', '.join(Settings.model_fields)}.")
    return FormatError(f"unknown key {quoted(key)}", where=place, hint=hint)


def _line(text: str, key: str) -> int | None:
    """Return the 1-based line on which a top-level key or table is set."""
    starts = (key, f"[[{key}]]", f"[{key}]")
    lines = (number for number, line in enumerate(text.splitlines(), 1) if line.strip().startswith(starts))
    return next(lines, None)
