"""Structured completion, the same for every provider: check the budget, call, retry, validate, correct.

The retries of the SDKs are turned off and these used instead, since they differ: one ignores `Retry-After`,
one waits for as long as it is told, none repeats a broken stream.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ironcurtain.compiler.llm.access import ModelAccess, Price
from ironcurtain.compiler.llm.call import CallError, Endpoint, Message, ModelReply, ModelRequest, Usage
from ironcurtain.compiler.llm.ledger import Ledger, LedgerEntry
from ironcurtain.compiler.llm.question import Answer, EarlierAnswer, Keep, Question, answer_to, grouped
from ironcurtain.errors import ModelFailedError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.secret_forms.hiding import without_secrets
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

MAX_TOKENS = 32_000
MAX_CORRECTIONS = 2
ANSWERED_LATER = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same call may have an answer."""
_SHOWN_MISTAKES = 5
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


class Patience(Struct):
    """How often and how long a failed call is repeated.

    Attributes:
        refusals: Repetitions after a refused call (429, 5xx, no connection), which costs nothing.
        breaks: Repetitions after an answer that broke off or took too long, which may have been paid for.
        first_wait: Seconds before the first repetition, if the server says nothing; then twice as long.
        longest_wait: A server that asks for more than these seconds is not waited for.
    """

    refusals: int = 4
    breaks: int = 1
    first_wait: float = 0.5
    longest_wait: float = 120.0


PATIENCE = Patience()


class ModelProvider:
    """Asks one model one question after the other.

    Args:
        endpoint: Sends the calls.
        access: Names the service in messages; its key is removed from whatever a server says.
        model: The model's id without the provider.
        price: What it costs; None if nobody knows.
        ledger: Where calls are written down.
        patience: How failed calls are repeated.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        access: ModelAccess,
        model: str,
        price: Price | None,
        ledger: Ledger,
        patience: Patience = PATIENCE,
    ) -> None:
        self._endpoint = endpoint
        self._access = access
        self._model = model
        self._price = price
        self._ledger = ledger
        self._patience = patience

    def ask(self, questions: Sequence[Question], keep: Keep) -> list[Answer]:
        """Ask the questions; each answer is kept before the next question is asked.

        Raises:
            ModelFailedError: If the model cannot be reached, refuses, is cut off, or its answer is not
                valid after two corrections.
            BudgetReachedError: Before a call that the budget may not bear.
        """
        answers = []
        for question in questions:
            entry = self._ledger.open(question)
            content = self._content(question, entry)
            answer = answer_to(question, content, provider=self._access.service.name, model=self._model)
            keep(answer)
            self._ledger.close(entry)
            answers.append(answer)
        return answers

    def given(self) -> Sequence[EarlierAnswer]:
        """Return nothing: a model answers when it is asked."""
        return ()

    def published(self) -> None:
        """Do nothing: there are no working files."""

    def _content(self, question: Question, entry: LedgerEntry) -> JsonValue:
        turns = [Message("user", question.text)]
        mistakes: list[str] = []
        for correction in range(1 + MAX_CORRECTIONS):
            entry.state = f"correcting ({correction})" if correction else "asking"
            request = ModelRequest(question.system, tuple(turns), question.schema, MAX_TOKENS)
            text = self._answer(question, request, entry)
            content, mistakes = _checked(question, text)
            if not mistakes:
                return content
            turns += [Message("assistant", text), Message("user", _correction(mistakes))]
        raise ModelFailedError(
            f"question {question.key}: the answer is still not valid after {MAX_CORRECTIONS} corrections: "
            + _first(grouped(mistakes)),
            hint="Try another model, or --model manual to answer the question yourself.",
        )

    def _answer(self, question: Question, request: ModelRequest, entry: LedgerEntry) -> str:
        """Return the text of a complete answer, valid or not."""
        reply = self._reply(question, request, entry)
        if reply.stop in WRONG_STOPS or not reply.text.strip():
            raise ModelFailedError(
                f"question {question.key}: "
                + WRONG_STOPS.get(reply.stop, "the model answered nothing").format(limit=MAX_TOKENS),
                hint="Try another model, or --model manual to answer the question yourself.",
            )
        return reply.text

    def _reply(self, question: Question, request: ModelRequest, entry: LedgerEntry) -> ModelReply:
        """Call until there is a reply, as often and as late as the failures allow."""
        refusals, breaks = self._patience.refusals, self._patience.breaks
        while True:
            self._ledger.require(question, request, self._price)
            try:
                reply = self._endpoint.send(request)
            except CallError as caught:
                error = caught
            else:
                usage = reply.usage or _estimate(request, len(reply.text.encode()))
                self._ledger.charge(entry, usage, self._price)
                return reply
            if error.started:
                self._ledger.charge(entry, _estimate(request, request.max_tokens), self._price)
                breaks -= 1
            else:
                refusals -= 1
            pause = self._pause(error, self._patience.refusals - refusals)
            if pause is None or min(refusals, breaks) < 0:
                raise call_failed(question.key, error, self._access)
            entry.state = f"waiting {pause:.0f} s ({error.status or error.kind})"
            time.sleep(pause)

    def _pause(self, error: CallError, refused: int) -> float | None:
        """Return the seconds to wait before the call is repeated, or None if that cannot help."""
        if error.final or error.kind in ("huge", "unintelligible"):
            return None
        if error.kind == "status" and error.status not in ANSWERED_LATER:
            return None
        own = self._patience.first_wait * 2 ** max(0, refused - 1)
        pause = own if error.wait is None else error.wait
        return pause if pause <= self._patience.longest_wait else None


def _estimate(request: ModelRequest, output: int) -> Usage:
    """Return the most that a call can have used whose tokens the server did not tell."""
    return Usage(request.tokens_at_most(), output, estimated=True)


def _checked(question: Question, text: str) -> tuple[JsonValue, list[str]]:
    """Return an answer's content and its mistakes."""
    try:
        content = json_text.parse(text)
    except json_text.MalformedJsonError as error:
        return None, [f"not valid JSON: {visible(str(error))}"]
    return content, question.mistakes(content)


def _first(mistakes: Sequence[str]) -> str:
    """Return the first mistakes as one phrase, and how many there are beside them."""
    more = len(mistakes) - _SHOWN_MISTAKES
    return "; ".join([*mistakes[:_SHOWN_MISTAKES], *([f"and {more} more"] if more > 0 else [])])


def _correction(mistakes: Sequence[str]) -> str:
    listed = "\n".join(f"- {mistake}" for mistake in grouped(mistakes))
    return f"The answer is not valid:\n{listed}\nGive the whole corrected answer, in the same form."


def call_failed(key: str, error: CallError, access: ModelAccess) -> ModelFailedError:
    """Return the error to show for a question whose call failed for good; `key` names the question."""
    return model_failed(error, access, before=f"question {key}: ")


def model_failed(error: CallError, access: ModelAccess, *, before: str = "") -> ModelFailedError:
    """Return the error to show for a call that failed for good; `before` is what its sentence begins with."""
    what, hint = _words(error)
    names = {
        "service": access.service.title,
        "key": access.service.keys[0],
        "address": access.service.address,
        "timeout": access.timeout,
    }
    sentence = before + what.format(**names)
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


def _shown(detail: str, access: ModelAccess) -> str:
    """Return what a server said, safe to show: some repeat the key that they were sent."""
    text = detail.replace(access.secret, "***") if access.secret else detail
    return visible(without_secrets(text)[:_SHOWN_DETAIL])
