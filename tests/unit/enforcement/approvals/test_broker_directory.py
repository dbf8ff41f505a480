"""Asking, waiting and using an answer once, on real files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from support.records.approvals import Hands, Rendezvous, summary, written

from ironcurtain.enforcement.approvals.broker_directory import ApprovalDirectory
from ironcurtain.enforcement.approvals.describe import rows
from ironcurtain.enforcement.approvals.inbox import PersonAnswer
from ironcurtain.enforcement.approvals.messages import ApprovalOutcome, ApprovalRequest, ApprovalState
from ironcurtain.enforcement.approvals.request import ANSWER_SECONDS, Clock

pytestmark = pytest.mark.anyio
LONG = 60.0


@pytest.fixture
def place(tmp_path: Path) -> Rendezvous:
    return Rendezvous(tmp_path, Clock())


async def answered(
    place: Rendezvous, request: ApprovalRequest, verdict: str = "approved", **options: Any
) -> None:
    """Answer as soon as the request is there, as a person in another terminal would."""
    with anyio.fail_after(LONG):
        while not place.request_file(request.id).exists():  # noqa: ASYNC110 - another thread writes it
            await anyio.sleep(0.01)
    assert place.answer(request, verdict, **options) == "recorded"


@pytest.mark.parametrize(
    ("verdict", "options", "state", "scope"),
    [
        ("approved", {}, "approved", "once"),
        ("approved", {"scope": "session"}, "approved", "session"),
        ("denied", {"reason": "not today\x1b[31m"}, "denied", "once"),
    ],
    ids=["once", "session", "denied"],
)
async def test_an_answer_reaches_the_call_that_waits(
    place: Rendezvous, verdict: str, options: dict[str, str], state: str, scope: str
) -> None:
    request = written()
    with place.open() as directory:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: answered(place, request, verdict, **options))
            outcome = await directory.obtain(request, LONG)
    assert (outcome.state, outcome.scope, outcome.fault) == (state, scope, None)
    assert outcome.by
    assert outcome.approved is (verdict == "approved")
    assert "\x1b" not in outcome.reason
    assert place.names() == [f"done-{request.id}.json"]


async def test_an_answer_says_when_it_ends(place: Rendezvous) -> None:
    until = place.clock.wall() + timedelta(hours=8)
    with place.open() as directory:
        asked = await directory.ask(written())
        with place.desk() as desk:
            status = desk.status(asked)
            assert status is not None and status.request is not None  # noqa: PT018
            over = PersonAnswer("approved", "session", until=place.clock.wall())
            assert desk.answer(status.request, over) == "ended"
            said = PersonAnswer("approved", "session", until=until)
            assert desk.answer(status.request, said) == "recorded"
        outcome = await directory.obtain(written(), 0)
    assert (outcome.state, outcome.scope, outcome.until) == ("approved", "session", until)


async def test_pending_then_the_same_call_picks_the_answer_up(place: Rendezvous) -> None:
    request = written()
    with place.open() as directory:
        assert summary(await directory.obtain(request, 0)) == ("pending", None)
        assert place.answer(request) == "recorded"
        again = written()
        assert again.id != request.id
        outcome = await directory.obtain(again, 0)
        assert (outcome.state, outcome.request) == ("approved", request.id)
        # It was for once.
        assert summary(await directory.obtain(written(), 0)) == ("pending", None)


async def test_the_same_call_is_not_asked_about_twice(place: Rendezvous) -> None:
    with place.open() as directory:
        first = await directory.ask(written())
        assert await directory.ask(written()) == first
        other = await directory.ask(written(content="other"))
        assert other != first
        assert directory.waiting == 2
    with place.desk() as desk:
        assert set(desk.ids()) == {first, other}


def test_another_argument_or_session_is_another_call() -> None:
    request = written()
    bindings = {
        request.binding,
        written(path="/srv/b.txt").binding,
        written(content="hello ").binding,
        written(session="other").binding,
    }
    assert len(bindings) == 4
    assert written().binding == request.binding


async def test_of_equal_calls_one_uses_the_answer(place: Rendezvous) -> None:
    request = written()
    outcomes: list[ApprovalOutcome] = []

    async def call() -> None:
        outcomes.append(await directory.obtain(written(), 1.0))

    with place.open() as directory:
        id_ = await directory.ask(request)
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(call)
            group.start_soon(lambda: answered(place, request))
    assert sorted(outcome.state for outcome in outcomes) == ["approved", *["pending"] * 4]
    new = {outcome.request for outcome in outcomes if outcome.state == "pending"}
    assert len(new) == 1
    assert id_ not in new


async def test_two_programs_use_an_answer_once(place: Rendezvous) -> None:
    request = written()
    with place.open() as first:
        await first.ask(request)
        with place.open() as second:
            assert second.waiting == 1
            assert place.answer(request) == "recorded"
            found: list[ApprovalOutcome | None] = []

            async def take(directory: ApprovalDirectory) -> None:
                found.append(await directory.take(request.binding))

            async with anyio.create_task_group() as group:
                group.start_soon(take, first)
                group.start_soon(take, second)
    assert sorted(map(summary, found), key=str) == [("approved", None), None]


async def test_waiting_for_one_call_does_not_hold_up_another(place: Rendezvous) -> None:
    slow, quick = written(), written(content="quick")
    with place.open() as directory:
        async with anyio.create_task_group() as group:
            group.start_soon(directory.obtain, slow, LONG)
            group.start_soon(lambda: answered(place, quick))
            with anyio.fail_after(LONG):
                assert (await directory.obtain(quick, LONG)).approved
            group.cancel_scope.cancel()


async def test_who_looks_for_all_may_leave(place: Rendezvous) -> None:
    request = written()
    with place.open() as directory:
        id_ = await directory.ask(request)
        async with anyio.create_task_group() as group:
            group.start_soon(directory.wait, id_, 0.05)
            group.start_soon(lambda: answered(place, request))
            assert (await directory.wait(id_, LONG)).approved


async def test_a_restarted_program_loses_nothing(place: Rendezvous) -> None:
    unanswered, approved, used = written("/srv/1"), written("/srv/2"), written("/srv/3")
    with place.open() as directory:
        for request in (unanswered, approved, used):
            await directory.ask(request)
        assert place.answer(used) == "recorded"
        assert summary(await directory.take(used.binding)) == ("approved", None)
        assert place.answer(approved) == "recorded"
    with place.open() as directory:
        assert summary(await directory.take(approved.binding)) == ("approved", None)
        assert await directory.take(used.binding) is None
        assert await directory.ask(written("/srv/1")) == unanswered.id


async def test_what_nobody_waits_for_is_marked_and_joined_to_the_same_call(place: Rendezvous) -> None:
    """A request of a program that had ended looked like any other, as often as the call was asked about."""
    with place.open() as directory:
        for session in ("one", "two", "three"):
            await directory.ask(written(session=session))
        with place.desk() as desk:
            assert [each.waits for each in desk.statuses()] == [True, True, True]
    with place.desk() as desk:
        (gone,) = desk.statuses()  # three programs asked about one call, and none of them runs
        assert (gone.state, gone.waits) == ("pending", False)
        (line,) = rows(gone, datetime.now(UTC), None)
        assert "nobody waits; it counts if it is repeated" in line
    with place.open() as directory, place.desk() as desk:
        new = await directory.ask(written(session="four"))
        other = await directory.ask(written("/srv/other", session="four"))
        assert [(each.id, each.waits) for each in desk.statuses()] == [(new, True), (other, True)]


async def test_what_is_over_is_listed_no_more(tmp_path: Path) -> None:
    hands = Hands()
    place = Rendezvous(tmp_path, hands.clock)
    with place.open() as directory:
        request = written(clock=hands.clock)
        await directory.ask(request)
        with place.desk() as desk:
            assert [each.id for each in desk.statuses()] == [request.id]
            hands.pass_time(ANSWER_SECONDS + 1)
            assert desk.statuses() == ()
            assert desk.status(request.id) is not None


async def test_settled_another_way(place: Rendezvous) -> None:
    request = written()
    with place.open() as directory:
        id_ = await directory.ask(request)
        yes = ApprovalOutcome(state=ApprovalState.APPROVED, by="the client's person")
        assert await directory.settle(id_, yes)
        assert not await directory.settle(id_, yes)
        assert place.answer(request) == "gone"
        assert await directory.take(request.binding) is None


async def test_an_id_serves_once(place: Rendezvous) -> None:
    request = written()
    with place.open() as directory:
        await directory.ask(request)
        await directory.settle(request.id, ApprovalOutcome(state=ApprovalState.DENIED))
        with pytest.raises(FileExistsError):
            await directory.ask(request)
        assert directory.waiting == 0


# -- time ---------------------------------------------------------------------------------------


async def test_nobody_answers(tmp_path: Path) -> None:
    hands = Hands()
    place = Rendezvous(tmp_path, hands.clock)
    request = written(clock=hands.clock, seconds=100)
    with place.open() as directory:
        await directory.ask(request)
        hands.pass_time(99)
        assert summary(await directory.wait(request.id, 0.01)) == ("pending", None)
        hands.pass_time(1)
        assert summary(await directory.wait(request.id, LONG)) == ("expired", None)
        assert place.answer(request) == "expired"
        assert summary(await directory.obtain(written(clock=hands.clock), 0)) == ("expired", None)
        # It is told once; the next call asks anew.
        assert summary(await directory.obtain(written(clock=hands.clock), 0)) == ("pending", None)


async def test_an_answer_in_time_can_be_used_later_but_not_for_ever(tmp_path: Path) -> None:
    hands = Hands()
    place = Rendezvous(tmp_path, hands.clock)
    used, unused = (written(content=text, clock=hands.clock, seconds=100) for text in ("a", "b"))
    with place.open() as directory:
        for request in (used, unused):
            await directory.ask(request)
            assert place.answer(request) == "recorded"
        hands.pass_time(600)
        assert summary(await directory.take(used.binding)) == ("approved", None)
        hands.pass_time(101)
        assert summary(await directory.take(unused.binding)) == ("expired", "late")


@pytest.mark.parametrize("seconds", [0, -1, 86_401, float("nan")], ids=str)
def test_a_time_to_answer_is_bounded(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds to answer"):
        written(seconds=seconds)


async def test_sweeping_keeps_what_is_needed(tmp_path: Path) -> None:
    hands = Hands(wall=Clock().wall())
    place = Rendezvous(tmp_path, hands.clock)
    old = written(clock=hands.clock, seconds=100)
    with place.open() as directory:
        await directory.ask(old)
        (place.path / ".new-torn").write_text("{")
        (place.path / "note.txt").write_text("a person's")
        hands.pass_time(701)
        await directory.sweep()
        assert directory.waiting == 0
        assert place.names() == [".new-torn", f"done-{old.id}.json", "note.txt"]
        hands.pass_time(8 * 86_400)
        new = written(clock=hands.clock)
        await directory.ask(new)
        assert place.names() == ["note.txt", f"request-{new.id}.json"]
