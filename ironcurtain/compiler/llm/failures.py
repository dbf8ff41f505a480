"""What failed calls mean to a person: one sentence and one thing to do for each kind."""

from __future__ import annotations

from ironcurtain.compiler.llm.access import Access
from ironcurtain.compiler.llm.call import CallError
from ironcurtain.errors import ModelFailedError
from ironcurtain.system.text import visible

WRONG_STOPS = {
    "limit": "the answer was cut off at the limit of {limit:,} tokens",
    "context": "the question and its answer exceed what the model can read",
    "refusal": "the model refused to answer",
}
"""Ends of an answer that is none."""

_SHOWN_DETAIL = 300
_LATER = "Try again later; answers already given are kept."
_KEY = "Check {key}."
_MODEL = "Check --model."
_ADDRESS = "Check the network and {address}."

_KINDS = {
    "time-out": ("the model gave no complete answer within {timeout:g} seconds", _LATER),
    "unreachable": ("{service} cannot be reached", _ADDRESS),
    "cut": ("the connection broke off in the middle of the answer", _LATER),
    "huge": ("the answer is larger than any answer may be; the rest was not read", "Try another model."),
    "unintelligible": ("what answered is not {service}", "Check {address}."),
}
_STATUSES = {
    400: ("{service} rejects the request (400)", "Check --model; the question may be too large for it."),
    401: ("{service} does not accept the key (401)", _KEY),
    402: ("{service} wants to be paid first (402)", "Check the account's balance."),
    403: ("the key may not use this model (403)", "Check {key} and --model."),
    404: ("{service} does not know this model (404)", _MODEL),
    413: ("the question is too large for {service} (413)", "Try another model."),
    429: ("{service} keeps refusing: its rate limit is reached (429)", _LATER),
    503: ("{service} is overloaded (503)", _LATER),
    529: ("{service} is overloaded (529)", _LATER),
}
_REDIRECTS = range(300, 400)


def call_failed(key: str, error: CallError, access: Access) -> ModelFailedError:
    """Return the error to show for a call that failed for good; `key` names its question."""
    what, hint = _words(error)
    names = {
        "service": access.service.title,
        "key": access.service.keys[0],
        "address": access.service.address,
        "timeout": access.timeout,
    }
    sentence = f"question {key}: {what.format(**names)}"
    if error.wait is not None:
        sentence += f"; it asks to wait {error.wait:,.0f} seconds"
    detail = _shown(error.detail, access)
    return ModelFailedError(sentence + (f": {detail}" if detail else ""), hint=hint.format(**names))


def _words(error: CallError) -> tuple[str, str]:
    if error.kind != "status":
        return _KINDS[error.kind]
    if error.status in _REDIRECTS:
        return f"{{service}} answers with a redirect ({error.status})", "Check {address}."
    return _STATUSES.get(error.status, (f"{{service}} failed ({error.status})", _LATER))


def _shown(detail: str, access: Access) -> str:
    """Return what a server said, safe to show: some repeat the key that they were sent."""
    text = detail.replace(access.secret, "***") if access.secret else detail
    return visible(text[:_SHOWN_DETAIL])
