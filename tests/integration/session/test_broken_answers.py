"""A model, or what stands before it, answers badly: the turn ends with an error, and the session goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from support.deployments.stage import Stage
from support.services.model_server import ANTHROPIC, DIALECTS, Dialect, Play, raw

from ironcurtain.errors import ModelFailedError
from ironcurtain.session.session import Session

pytestmark = pytest.mark.timeout(300)
CALLS = (("fix__echo", {"text": "one"}), ("fix__echo", {"text": "two"}))
EVENTS = "text/event-stream"


def events(*parts: str) -> Play:
    return raw("".join(parts).encode(), content_type=EVENTS)


def of_each_dialect(test: Any) -> Any:
    return pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.provider)(test)


async def _goes_on(play: Stage, session: Session) -> None:
    """See that the session can go on, with a conversation that its provider takes."""
    play.model.script[:] = [play.model.dialect.answer("Here.")]
    answer = await session.send("And now?")
    assert answer.text == "Here.", answer


@of_each_dialect
def test_an_answer_that_breaks_off_anywhere_is_carried_out_as_a_whole_or_not_at_all(
    stage: Callable[..., Stage], dialect: Dialect
) -> None:
    play = stage(dialect=dialect)
    whole = dialect.call_events("I look.", CALLS)
    text = "".join(whole)
    places = {len("".join(whole[:number])) for number in range(1, len(whole))}
    places |= {place - 3 for place in places} | {len(text) // 2, len(text) - 30}

    async def story() -> set[int]:
        done = set[int]()
        async with play.session() as session:
            for place in sorted(places):
                play.model.requests.clear()
                play.model.script[:] = [events(text[:place]), dialect.answer("Done.")]
                before = len(play.place.sent())
                try:
                    assert (await session.send("Echo")).text == "Done."
                except ModelFailedError:
                    assert len(play.place.sent()) == before, place
                if len(play.place.sent()) > before:
                    assert len(play.place.sent()) == before + len(CALLS), place
                    done.add(place)
            await _goes_on(play, session)
        return done

    assert min(anyio.run(story), default=len(text)) > text.rindex("two")


UNINTELLIGIBLE: dict[str, Play] = {
    "html": raw(b"<html><body>Sign in to the network</body></html>", content_type="text/html"),
    "html as events": raw(b"<html><body>Sign in to the network</body></html>", content_type=EVENTS),
    "text": raw(b"OK", content_type="text/plain"),
    "a whole answer that is no stream": raw(
        b'{"type": "message", "content": []}', content_type="application/json"
    ),
    "no JSON in an event": events("data: {no json\n\n"),
    "a list in an event": events("data: []\n\n"),
    "null in an event": events("data: null\n\n"),
    "a number in an event": events("data: 7\n\n"),
    "an object of no kind": events("data: {}\n\n"),
    "an event of no known kind": events('event: surprise\ndata: {"type": "surprise"}\n\n'),
    "nested without end": events("data: " + "[" * 100_000 + "\n\n"),
    "not UTF-8": raw(b"data: \xff\xfe\n\n", content_type=EVENTS),
    "nothing": raw(b"", content_type="text/plain"),
}


@of_each_dialect
@pytest.mark.parametrize("after", ["at the beginning", "after words"])
def test_what_is_no_answer_ends_the_turn_with_an_error(
    stage: Callable[..., Stage], dialect: Dialect, after: str
) -> None:
    play = stage(dialect=dialect)
    begun = "" if after == "at the beginning" else "".join(dialect.events("half of it", "end")[:2])
    wrong: dict[str, str] = {}

    async def story() -> None:
        async with play.session() as session:
            for name, answer in UNINTELLIGIBLE.items():
                content = answer()
                if begun and content.content_type != EVENTS:
                    continue
                play.model.script[:] = [raw(begun.encode() + content.data, content_type=content.content_type)]
                try:
                    said = await session.send("Say it")
                    wrong[name] = f"it passed for an answer: {said}"
                except ModelFailedError:
                    pass
                except Exception as error:  # noqa: BLE001 - all are told at once
                    wrong[name] = repr(error)
                assert session.state == "ready"
            await _goes_on(play, session)

    anyio.run(story)
    assert not wrong
    assert not play.place.sent()


def _block(kind: str, **members: Any) -> str:
    return (
        f"event: content_block_{kind}\ndata: {json.dumps({'type': f'content_block_{kind}', **members})}\n\n"
    )


_START, *_, _REASON, _STOP = ANTHROPIC.call_events("", CALLS)
_TOOL = {"type": "tool_use", "id": "toolu_0", "name": "fix__echo", "input": {}}
_BEGIN = _block("start", index=0, content_block=_TOOL)
_ARGUMENTS = _block("delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"text": "x"}'})
_HALF = _block("delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"text": "x'})
_ELSEWHERE = _block("delta", index=7, delta={"type": "input_json_delta", "partial_json": '{"text": "x"}'})
_BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
_OVERLOADED = f"event: error\ndata: {json.dumps(_BUSY)}\n\n"
DISORDERED = {
    "the end first": [_STOP, _START, _BEGIN, _ARGUMENTS],
    "arguments before a call": [_START, _ARGUMENTS, _STOP],
    "arguments of another call, and no end": [_START, _BEGIN, _ELSEWHERE, _STOP],
    "half of the arguments": [_START, _BEGIN, _HALF, _REASON, _STOP],
    "a call without a beginning": [_BEGIN, _ARGUMENTS],
    "an error after the call": [_START, _BEGIN, _ARGUMENTS, _OVERLOADED],
    "two beginnings": [_START, _START, _BEGIN, _START],
}


def test_events_in_a_wrong_order_make_no_call(stage: Callable[..., Stage]) -> None:
    play = stage()
    wrong: dict[str, str] = {}

    async def story() -> None:
        async with play.session() as session:
            for name, parts in DISORDERED.items():
                play.model.requests.clear()
                play.model.script[:] = [events(*parts), ANTHROPIC.answer("Done.")]
                try:
                    await session.send("Echo")
                except ModelFailedError:
                    pass
                except Exception as error:  # noqa: BLE001 - all are told at once
                    wrong[name] = repr(error)
            await _goes_on(play, session)

    anyio.run(story)
    assert not wrong
    assert play.place.sent() == []


@of_each_dialect
@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize("wait", [{}, {"retry_after": "1"}, {"retry_after": "soon"}])
def test_a_refusal_that_passes_is_not_seen(
    stage: Callable[..., Stage], dialect: Dialect, status: int, wait: dict[str, str]
) -> None:
    play = stage(
        dialect.failure(status, "overloaded_error", "busy", **wait), dialect.answer("Done."), dialect=dialect
    )

    async def story() -> None:
        async with play.session() as session:
            assert (await session.send("Go")).text == "Done."

    anyio.run(story)
    assert len(play.model.requests) == 2
