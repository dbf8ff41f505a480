"""One call of a model, as all providers share it: the request, the reply and the failures.

A provider's module translates between these and its SDK. Corrections, retries, accounting and progress are
done once for all providers, in `structured_completion`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

MAX_ANSWER_CHARACTERS = 1_000_000
"""The longest answer that is read; the longest that is asked for has about a tenth of it."""

# What services add around a request: marks of turns, and instructions for structured output.
_FRAME_TOKENS = 1000

CallFailure: TypeAlias = Literal["status", "time-out", "unreachable", "cut", "huge", "unintelligible"]
Stop: TypeAlias = Literal["end", "limit", "context", "refusal"]


class Message(Struct):
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    text: str


class ModelRequest(Struct):
    """What is sent.

    Attributes:
        turns: The conversation; the first and the last turn are the user's.
        schema: JSON Schema of the answer.
        max_tokens: The longest answer that is paid for.
    """

    system: str
    turns: tuple[Message, ...]
    schema: dict[str, JsonValue]
    max_tokens: int

    def tokens_at_most(self) -> int:
        """Return a number of tokens that the request does not exceed: a token is at least one byte."""
        texts = [self.system, *(turn.text for turn in self.turns)]
        size = sum(len(text.encode()) for text in texts) + len(json_text.canonical(self.schema))
        return size + _FRAME_TOKENS


class Usage(Struct):
    """Tokens of one call, as the server counted them, or at most (`estimated`) where it did not say."""

    input: int
    output: int
    estimated: bool = False


class ModelReply(Struct):
    """What came back: the text, why it ends, and its tokens if the server told."""

    text: str
    stop: Stop
    usage: Usage | None


class CallError(Exception):
    """A call that gave no answer.

    Attributes:
        kind: `status` for an HTTP status that is no success, otherwise what went wrong on the way.
        status: The HTTP status, or 0.
        detail: What the server or the network said; not safe to show as it is.
        wait: Seconds after which the server wants to be asked again.
        started: Whether an answer may have been begun, and so be paid for.
        final: Whether asking again cannot help, whatever the status.
    """

    def __init__(
        self,
        kind: CallFailure,
        *,
        status: int = 0,
        detail: str = "",
        wait: float | None = None,
        final: bool = False,
    ) -> None:
        super().__init__(kind)
        self.kind: CallFailure = kind
        self.status = status
        self.detail = detail
        self.wait = wait
        self.final = final

    @property
    def started(self) -> bool:
        """Tell whether the server may have begun to answer."""
        return self.kind in ("time-out", "cut", "huge")


class Endpoint(Protocol):
    """One model behind one provider's API. One module in this package for each provider."""

    def send(self, request: ModelRequest) -> ModelReply:
        """Send one request and read the whole answer.

        Raises:
            CallError: If there is no complete answer.
        """
        ...


@dataclass
class Streamed:
    """Collects an answer that arrives in pieces."""

    pieces: list[str] = field(default_factory=list)
    size: int = 0
    stop: Stop | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    def add(self, text: str | None) -> None:
        """Take a piece of the text.

        Raises:
            CallError: If the text exceeds what any answer may have.
        """
        if not text:
            return
        self.pieces.append(text)
        self.size += len(text)
        if self.size > MAX_ANSWER_CHARACTERS:
            raise CallError("huge")

    def reply(self) -> ModelReply:
        """Return the complete answer.

        Raises:
            CallError: If the stream ended before the answer did.
        """
        if self.stop is None:
            raise CallError("cut")
        counted = self.input_tokens is not None and self.output_tokens is not None
        usage = Usage(self.input_tokens or 0, self.output_tokens or 0) if counted else None
        return ModelReply("".join(self.pieces), self.stop, usage)
