"""The forms of keys, tokens and passwords: the rules of a secret scanner, and what these do not know."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import re2

_SCANNER = "secret_rules.json"
"""Rules of gitleaks, with where they come from, what was changed, and their licence."""
_KEY = r"(?:BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|BEGIN SSH2 ENCRYPTED PRIVATE KEY)"
_END = r"END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
_NAMED = r"passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?"
_VALUE = r"(?:\"[^\"\r\n]{4,}|'[^'\r\n]{4,}|[^&\s\"',;]{4,})"
_OWN = (
    r"(?:\b|_)sk-[A-Za-z0-9_-]{16,}",
    r"(?:\b|_)(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{20,}",
    r"(?:\b|_)github_pat_[A-Za-z0-9_]{20,}",
    r"(?:\b|_)glpat-[A-Za-z0-9_-]{16,}",
    r"(?:\b|_)(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"(?:\b|_)(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}",
    r"(?:\b|_)SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"(?:\b|_)AIza[A-Za-z0-9_-]{30,}",
    r"(?:\b|_)(?:npm|hf|pypi|rk_live|sk_live|sk_test|pk_live)[_-][A-Za-z0-9_-]{16,}",
    r"(?:\b|_)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    # A key that does not end is one up to the end of the text.
    rf"-{{4,5}} ?{_KEY} ?-{{4,5}}(?:(?s:.*?)-{{4,5}} ?{_END} ?-{{4,5}}|(?s:.*))",
    r"PuTTY-User-Key-File-[0-9](?s:.*)",
    r"(?i:\b(?:bearer|basic|negotiate)\s+)[A-Za-z0-9._~+/=-]{12,}",
    r"[A-Za-z][A-Za-z0-9+.-]*://[^/\s:@\"']{0,200}:[^/\s@\"']{1,200}@",
    rf"(?i:(?:\b|_)(?:{_NAMED}|auth)=)[^&\s\"']{{4,}}",
    rf"(?i:(?:{_NAMED})[\"']?[ \t]{{0,3}}(?::=|=>|[:=])[ \t]{{0,3}}){_VALUE}",
)


def compiled() -> Any:  # noqa: ANN401 - the library has no type for a pattern
    """Return the pattern of everything that is a secret by its form alone."""
    rules = json.loads(files(__package__).joinpath(_SCANNER).read_text())["rules"]
    return re2.compile("|".join(f"(?:{form})" for form in (*_OWN, *rules.values())))


def named() -> Any:  # noqa: ANN401 - as above
    """Return the pattern of names whose values are secrets, whatever their form; it finds the end of one."""
    return re2.compile(rf"(?i:{_NAMED})(?:\0|$)")
