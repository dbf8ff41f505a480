"""Totals in a server that speaks the Redis protocol, shared by gateways of several machines.

Needs the extra `redis`. A total is one key, whose value is its exact decimal as text and which the server
forgets once its window is long over. A booking is one script, which the server runs without another command
in between: it compares the totals with those that were decided on, and writes what they have become. Nothing
is tried twice: a booking whose answer is lost may be there, and then its call is refused all the same.

The server is not believed: an answer has bounds, and one of another form is an error of the store.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

import redis
from redis._parsers import _RESP3Parser
from redis.backoff import NoBackoff
from redis.retry import Retry

from ironcurtain.enforcement.facts.clock import seconds_kept
from ironcurtain.enforcement.facts.totals.amounts import AmountError, add, read_total, total_text
from ironcurtain.enforcement.facts.totals.store import StoreError, TotalKey, TotalsStore

_PATIENCE = 5.0
_MOST_BYTES = 1 << 16
"""How large an answer may be: totals and the server's account of its memory are a few hundred bytes."""
_PREFIX = "ironcurtain:total"
_NOTHING = "0"

# KEYS: the totals that were seen. ARGV: what was seen, then the new totals ("" for one that stays), then for
# how many seconds each is kept. The sums are made by who asks: Lua counts in floating point.
_BOOK = f"""
for i, key in ipairs(KEYS) do
  if (redis.call('GET', key) or '{_NOTHING}') ~= ARGV[i] then return 0 end
end
for i, key in ipairs(KEYS) do
  local total = ARGV[#KEYS + i]
  if total ~= '' then redis.call('SET', key, total, 'EX', ARGV[2 * #KEYS + i]) end
end
return 1
"""


class _BoundedSocket:
    """A connection of which an answer takes no more bytes and seconds than answers here need."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.settimeout = connected.settimeout
        self.begin()

    def begin(self) -> None:
        """Begin an answer."""
        self._left, self._until = _MOST_BYTES, time.monotonic() + _PATIENCE

    def recv(self, most: int) -> bytes:
        """Return bytes of the answer.

        Raises:
            InvalidResponse: If they are too many.
            TimeoutError: If they come too late.
        """
        if time.monotonic() > self._until:
            raise redis.TimeoutError
        received = self._socket.recv(min(most, self._left + 1))
        self._left -= len(received)
        if self._left < 0:
            raise redis.InvalidResponse
        return received


class _BoundedParser(_RESP3Parser):
    """Reads answers, each within bounds: the library takes in whatever length a server announces."""

    def on_connect(self, connection: Any) -> None:  # noqa: ANN401 - the library's own
        super().on_connect(connection)  # type: ignore[no-untyped-call]
        self._bounds = _BoundedSocket(connection._sock)  # noqa: SLF001 - nothing of it is public
        self._buffer._sock = self._bounds  # type: ignore[union-attr] # noqa: SLF001 - as above

    def read_response(self, *given: Any, **more: Any) -> Any:  # noqa: ANN401 - as above
        self._bounds.begin()
        return super().read_response(*given, **more)


class RedisStore(TotalsStore):
    """The totals in one database of a server.

    Args:
        url: Where it is, with its password if it has one; nothing is connected yet.
        name: What errors call it.
    """

    def __init__(self, url: str, name: str) -> None:
        self._name = name
        self._client: redis.Redis = redis.Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=_PATIENCE,
            socket_connect_timeout=_PATIENCE,
            retry=Retry(NoBackoff(), 0),
            protocol=3,
            parser_class=_BoundedParser,
        )

    def check(self) -> None:
        """See that the server answers.

        Raises:
            StoreError: If it does not.
        """
        if self._asked("PING") is not True:
            raise self._wrong()

    def evicts(self) -> bool:
        """Tell whether the server forgets totals when its memory is full.

        Raises:
            StoreError: If it does not say.
        """
        told = self._asked("INFO", "memory")
        policy = told.get("maxmemory_policy") if isinstance(told, dict) else None
        if not isinstance(policy, str):
            raise StoreError(f"the store of totals {self._name} does not say what it does without memory")
        return policy != "noeviction"

    def totals(self, keys: Collection[TotalKey]) -> dict[TotalKey, Decimal]:
        """Return totals; 0 for one that nothing was booked on."""
        found = self._asked("MGET", *map(_place, keys))
        if not isinstance(found, list) or len(found) != len(keys):
            raise self._wrong()
        return {key: _read(text) for key, text in zip(keys, found, strict=True)}

    def book(self, seen: Mapping[TotalKey, Decimal], added: Mapping[TotalKey, Decimal]) -> bool:
        """Add amounts to totals that are still what was seen, in one script."""
        try:
            become = [total_text(add(seen[key], added[key])) if key in added else "" for key in seen]
        except AmountError as error:
            raise StoreError(str(error)) from None
        kept = [seconds_kept(key.window) for key in seen]
        told: list[str | int] = [*map(total_text, seen.values()), *become, *kept]
        booked = self._asked("EVAL", _BOOK, len(seen), *map(_place, seen), *told)
        if type(booked) is not int or booked not in (0, 1):
            raise self._wrong()
        return booked == 1

    def _asked(self, *command: str | int) -> Any:  # noqa: ANN401 - as the protocol has it
        try:
            return self._client.execute_command(*command)  # type: ignore[no-untyped-call]
        except Exception as error:
            # What a server writes makes the library raise anything. Its text may tell of the server or a key.
            raise StoreError(
                f"the store of totals {self._name} cannot be used ({type(error).__name__})"
            ) from error

    def _wrong(self) -> StoreError:
        return StoreError(f"the store of totals {self._name} answers what it was not asked")


def _place(key: TotalKey) -> str:
    return f"{_PREFIX}:{key.caller}:{key.counter}:{key.window}"


def _read(text: object) -> Decimal:
    try:
        if isinstance(text, str | None):
            return read_total(_NOTHING if text is None else text)
    except AmountError:
        pass
    raise StoreError("a total in the store is not what was written")
