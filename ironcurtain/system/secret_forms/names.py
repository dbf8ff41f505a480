"""Names whose values are secrets: of arguments, members, variables, headers, flags."""

from __future__ import annotations

from functools import cache
from typing import Any

from ironcurtain.system.secret_forms.linear import compiled

_KINDS = (
    "api|access|private|secret|account|shared|signing|signature|encryption|decryption|master|service|storage"
    "|auth|license|deploy|ssh|session|client|app|subscription|webhook|consumer|hmac|jwt|admin|server|bot|root|role"
)
_NAMES = (
    rf"(?:{_KINDS})[_.-]?key|passw(?:or)?d|passphrase|passcode|pwd|(?:\b|_)pass|(?-i:[a-z]Pass)|secret|token"
    r"|credentials?|(?:\b|_)creds|cookie|authorization|(?:\b|_)(?:auth|otp)|jwt|bearer"
    r"|conn(?:ection)?[_.-]?str(?:ing)?|mnemonic|(?:seed|recovery)[_-]?phrase|(?:recovery|backup)[_-]?codes?"
    r"|(?:php|j)?sessid|(?:php|asp|j)sessionid"
)
_SUFFIX = (
    r"(?:[_.-]?(?:[0-9]{1,4}|prod(?:uction)?|dev(?:elopment)?|test|staging|live|old|new|value|string"
    r"|confirm(?:ation)?|hash|b(?:ase)?64))?"
)
_PLURAL = "secrets|passwords|credentials|cookies"
_IN_SETTINGS = "token|secret|passw|passphrase|credential|cookie|authorization|(?:^|[_.-])(?:key|pat|dsn)$"


@cache
def _pattern(form: str) -> Any:  # noqa: ANN401 - the library has no type for a pattern
    return compiled([f"(?i:{form})"])


def names_in_text() -> Any:  # noqa: ANN401 - as above
    """Return the pattern of where such a name may stand in a text: to the end of the word it is in."""
    return _pattern(rf"(?:{_NAMES})[a-z0-9_-]{{0,30}}")


def names_a_secret(name: str) -> bool:
    """Tell whether the value under a name is a secret, whatever its form."""
    return _pattern(rf"(?:{_NAMES}){_SUFFIX}$").search(name) is not None


def names_secrets(name: str) -> bool:
    """Tell whether a name is that of a collection of secrets, whatever the names in it."""
    return names_a_secret(name) or _pattern(rf"(?:{_PLURAL})$").search(name) is not None


def is_secret_setting(name: str) -> bool:
    """Tell whether an environment variable or a header of a server holds a secret.

    More is taken for one than elsewhere: nothing is lost by that.
    """
    return names_a_secret(name) or _pattern(_IN_SETTINGS).search(name) is not None


def is_secret_flag(word: str) -> bool:
    """Tell whether a word of a command line has the next one for its secret."""
    return word.startswith("-") and "=" not in word and names_a_secret(word)
