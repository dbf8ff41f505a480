"""The limits of a turn and of a session: told at four fifths, then a sentence, and the session goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from decimal import Decimal

import anyio
import pytest
from support.deployments.stage import Stage
from support.services.model_server import ANTHROPIC, TOKENS_IN, TOKENS_OUT
from werkzeug import Response

from ironcurtain.errors import SessionError
from ironcurtain.session.limits import NO_LIMITS, TURN, Budget, LimitReachedError, Limits, Used

pytestmark = pytest.mark.timeout(300)
ECHO = ANTHROPIC.calls(("fix__echo", {"text": "hello"}))
DONE = ANTHROPIC.answer("Done.")
STEP = TOKENS_IN + TOKENS_OUT
# Five answers of the model are at each limit, four at four fifths of it.
LIMITS = {
    "steps": (Limits(steps=5), "5 steps", "4 of the"),
    "tokens": (Limits(tokens=5 * STEP), f"{5 * STEP:,} tokens", f"{4 * STEP:,} of the"),
    "cost": (Limits(cost=Decimal("0.02")), "0.02 US dollars", "0.016 of the"),
}


@pytest.fixture
def priced(stage: Callable[..., Stage]) -> Stage:
    """A stage whose model has a price: 0.004 US dollars an answer."""
    made = stage(ECHO)
    file = made.place.home / ".ironcurtain" / "config.json"
    file.parent.mkdir(mode=0o700, exist_ok=True)
    price = {"input": "3", "output": "5"}
    document = {"format": "ironcurtain/config/v1", "prices": {"anthropic:test-model": price}}
    file.write_text(json.dumps(document))
    file.chmod(0o600)
    return made


@pytest.mark.parametrize("limit", LIMITS)
def test_a_turn_is_warned_and_then_ended_and_the_next_one_begins_anew(priced: Stage, limit: str) -> None:
    limits, most, used = LIMITS[limit]

    async def story() -> None:
        async with priced.session(turn=limits) as session:
            for number in (1, 2):
                answer = await session.send("Echo forever")
                assert (answer.finished, answer.why) == (False, f"All of the {most} of this turn are used.")
                assert session.usage.steps == 5 * number
                assert session.state == "ready"
            priced.model.script[:] = [DONE]
            assert (await session.send("Stop")).text == "Done."

    anyio.run(story)
    told = [f"{used} {most} of this turn are used.", f"All of the {most} of this turn are used."]
    assert priced.notes() == told * 2
    assert len(priced.place.sent()) == 10


@pytest.mark.parametrize("limit", LIMITS)
def test_a_session_that_is_used_up_asks_the_model_nothing_and_stays_open(priced: Stage, limit: str) -> None:
    limits, most, used = LIMITS[limit]
    reached = f"All of the {most} of this session are used."
    priced.model.script[:] = [ECHO, ECHO, ECHO, DONE, ECHO]

    async def story() -> None:
        async with priced.session(whole=limits) as session:
            assert (await session.send("Echo")).finished
            assert (await session.send("Echo again")).why == reached
            assert (await session.send("And now?")).why == reached
            with pytest.raises(SessionError, match=f"^{reached[:-1]}"):
                await session.compact()
            assert session.state == "ready"
            assert session.usage.steps == 5
            spoken = len(session.history)
        async with priced.session(resume=session.id, whole=limits) as again:
            assert again.usage.steps == 5
            assert (await again.send("And now?")).why == reached
        async with priced.session(resume=session.id) as again:
            assert len(again.history) == spoken
            priced.model.script[:] = [DONE]
            assert (await again.send("Go on")).text == "Done."

    anyio.run(story)
    assert priced.notes() == [f"{used} {most} of this session are used.", reached, reached, reached]
    assert len(priced.model.requests) == 6


@pytest.mark.parametrize("whose", ["turn", "session"])
def test_time_ends_a_turn_while_the_model_is_silent(stage: Callable[..., Stage], whose: str) -> None:
    over = threading.Event()

    def silent() -> Response:
        over.wait(60)
        return DONE()

    play, seconds = stage(silent), Limits(seconds=1.0)
    limits = {"turn": (seconds, NO_LIMITS), "session": (TURN, seconds)}[whose]

    async def story() -> None:
        async with play.session(turn=limits[0], whole=limits[1]) as session:
            answer = await session.send("Think")
            over.set()
            assert (answer.finished, answer.why) == (False, f"All of the 1 seconds of this {whose} are used.")
            assert session.usage.seconds >= 1
            assert (await session.send("And now?")).why in ("", answer.why)
            assert "And now?" in json.dumps(session.history, default=str)

    anyio.run(story)


def test_four_fifths_of_the_seconds_are_told_with_the_seconds() -> None:
    budget = Budget("turn", Limits(seconds=600.0))
    assert budget.check(Used(seconds=479.9)) == []
    assert budget.check(Used(seconds=480.26)) == ["480.3 of the 600 seconds of this turn are used."]
    assert budget.check(Used(seconds=599.0)) == []
    with pytest.raises(LimitReachedError, match=r"^All of the 600 seconds of this turn are used\.$"):
        budget.check(Used(seconds=600.0))
