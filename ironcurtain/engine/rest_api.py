"""What is asked of OPA's REST API, ours or others', and how its answers are bounded."""

from __future__ import annotations

from urllib.parse import urlencode

from ironcurtain.engine.answer import EngineAnswerError
from ironcurtain.model.reserved_rules import ReservedRule

_DECISION = "data/ironcurtain/decision/decision"
LENIENT_DECISION = f"{_DECISION}?{urlencode({'provenance': 'true'})}"
"""The decision, below OPA's version; an error of a built-in leaves a rule undefined."""
STRICT_DECISION = f"{_DECISION}?{urlencode({'provenance': 'true', 'strict-builtin-errors': 'true'})}"
"""What is asked of OPA, below its version: the decision, and an error where a built-in has one."""
CONNECTIONS = 32
"""More at once would only wait inside OPA instead of here, each holding its memory."""
IDLE = 15.0
"""Seconds after which a connection that nobody used is not used again."""
MAX_ANSWER = 64 << 20
"""No decision on an input of 8 MiB is as long; who sends more shall not fill our memory."""


def head_of(what: str, token: str) -> bytes:
    """Return the head of a request over our own socket, up to the length of its body.

    Args:
        what: Method and target.
        token: The bearer token.
    """
    return (
        f"{what} HTTP/1.1\r\nHost: opa\r\nAuthorization: Bearer {token}\r\n"
        "Accept-Encoding: identity\r\nContent-Type: application/json\r\nContent-Length: "
    ).encode("ascii")


def as_body(policy_input: bytes) -> bytes:
    """Return the body of a request about a policy input, which is sent as it is."""
    return b'{"input":' + policy_input + b"}"


def too_slow(seconds: float) -> EngineAnswerError:
    """Return the error of an answer that did not come in time."""
    return EngineAnswerError(ReservedRule.ENGINE_TIMEOUT, f"the engine did not answer within {seconds:g} s")


def too_long() -> EngineAnswerError:
    """Return the error of an answer that is longer than any decision."""
    return EngineAnswerError(
        ReservedRule.ENGINE_MALFORMED, f"the engine's answer is longer than {MAX_ANSWER:,} bytes"
    )


def unreachable(error: Exception) -> EngineAnswerError:
    """Return the error of a connection that could not be made, or broke."""
    return EngineAnswerError(
        ReservedRule.ENGINE_UNREACHABLE, f"the engine cannot be reached ({type(error).__name__})"
    )
