"""Ways to get a call approved that no person approved, each by name.

Held by: the seal over the request as it was shown, ids that cannot be guessed, two clocks, and the mark that
is made once.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from support.records.approvals import Hands, Rendezvous, edited, summary, written

from ironcurtain.enforcement.approvals.broker_directory import MAX_OF_SESSION, MAX_WAITING
from ironcurtain.enforcement.approvals.describe import describe
from ironcurtain.enforcement.approvals.inbox import ApprovalInbox
from ironcurtain.enforcement.approvals.key import ApprovalKey
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.approvals.private_directory import UntrustedFileError
from ironcurtain.enforcement.approvals.request import Clock
from ironcurtain.system.structs import replace

pytestmark = pytest.mark.anyio
LONG = 60.0


@pytest.fixture
def place(tmp_path: Path) -> Rendezvous:
    return Rendezvous(tmp_path, Clock())


# -- forged and damaged answers -----------------------------------------------------------------

Forge = Callable[[Rendezvous, ApprovalRequest, bytes], object]


def _write(place: Rendezvous, request: ApprovalRequest, content: bytes) -> None:
    place.response(request.id).write_bytes(content)


def _with(*steps: str, value: object) -> Forge:
    return lambda place, request, content: _write(place, request, edited(content, *steps, value=value))


def _raw(data: bytes) -> Forge:
    return lambda place, request, _: _write(place, request, data)


def _under_another_key(place: Rendezvous, request: ApprovalRequest, content: bytes) -> None:
    other = ApprovalKey(secrets.token_bytes(32))
    _write(place, request, edited(content, "seal", value=other.seal("ironcurtain/approval-answer/v1", "x")))


def _symlink(place: Rendezvous, request: ApprovalRequest, content: bytes) -> None:
    elsewhere = place.base / "agent-writes-here.json"
    elsewhere.write_bytes(content)
    place.response(request.id).symlink_to(elsewhere)


def _fifo(place: Rendezvous, request: ApprovalRequest, _: bytes) -> None:
    os.mkfifo(place.response(request.id))


def _directory(place: Rendezvous, request: ApprovalRequest, _: bytes) -> None:
    place.response(request.id).mkdir()


def _padded(place: Rendezvous, request: ApprovalRequest, content: bytes) -> None:
    _write(place, request, content + b" " * (1 << 16))


FORGERIES: dict[str, tuple[Forge, str]] = {
    "a word": (_raw(b"approved"), "malformed"),
    "an empty file": (_raw(b""), "malformed"),
    "no UTF-8": (_raw(b"\xff\xfe\x00"), "malformed"),
    "a deep value": (_raw(b"[" * 50_000), "malformed"),
    "another spelling": (_with("answer", "verdict", value="APPROVED"), "malformed"),
    "a verdict with a blank": (_with("answer", "verdict", value="approved "), "malformed"),
    "a verdict that is true": (_with("answer", "verdict", value=True), "malformed"),
    "an unknown scope": (_with("answer", "scope", value="always"), "malformed"),
    "one more member": (_with("answer", "also", value="approved"), "malformed"),
    "another format": (_with("format", value="ironcurtain/approval-answer/v2"), "malformed"),
    "no seal": (_with("seal", value=None), "malformed"),
    "a lone surrogate": (_with("answer", "reason", value="\ud800"), "malformed"),
    "an edited scope": (_with("answer", "scope", value="session"), "wrong-seal"),
    "an edited person": (_with("answer", "by", value="somebody else"), "wrong-seal"),
    "an edited time": (_with("answer", "answered", value="2020-01-01T00:00:00Z"), "wrong-seal"),
    "a seal of zeros": (_with("seal", value=f"hmac-sha256:{'0' * 64}"), "wrong-seal"),
    "a seal under another key": (_under_another_key, "wrong-seal"),
    "a symlink": (_symlink, "no-file"),
    "a FIFO": (_fifo, "no-file"),
    "a directory": (_directory, "no-file"),
    "an oversized file": (_padded, "too-large"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_forged_answer_never_approves(place: Rendezvous, forgery: str) -> None:
    forge, fault = FORGERIES[forgery]
    request = written()
    with place.open() as directory:
        await directory.ask(request)
        forge(place, request, place.sealed_answer(request))
        outcome = await directory.obtain(written(), LONG)
        assert summary(outcome) == ("invalid", fault)
        assert outcome.by is None
        assert outcome.reason.startswith("The answer does not count: ")
        assert "Traceback" not in outcome.reason


def test_each_fault_has_a_reason_of_its_own(place: Rendezvous) -> None:
    reasons = set()
    for forge, _ in FORGERIES.values():
        request = written()
        with place.open() as directory:
            store = directory._store
            store.write_request(request)
            forge(place, request, place.sealed_answer(request))
            asked = store.read_request(request.id)
            assert asked is not None
            reasons.add(store.outcome(store.remember(*asked)).reason)
        place.base.joinpath("agent-writes-here.json").unlink(missing_ok=True)
    assert len(reasons) >= 5


async def test_a_denial_edited_to_an_approval(place: Rendezvous) -> None:
    request = written()
    with place.open() as directory:
        await directory.ask(request)
        denial = place.sealed_answer(request, "denied")
        place.response(request.id).write_bytes(edited(denial, "answer", "verdict", value="approved"))
        assert summary(await directory.obtain(written(), LONG)) == ("invalid", "wrong-seal")


async def test_an_answer_replayed_for_another_call(place: Rendezvous) -> None:
    approved, other = written("/srv/notes"), written("/srv/passwords")
    with place.open() as directory:
        for request in (approved, other):
            await directory.ask(request)
        place.response(other.id).write_bytes(place.sealed_answer(approved))
        assert summary(await directory.obtain(other, LONG)) == ("invalid", "other-request")


async def test_an_answer_replayed_for_the_same_call(place: Rendezvous) -> None:
    request = written()
    with place.open() as directory:
        await directory.ask(request)
        answer, question = place.sealed_answer(request), place.request_file(request.id).read_bytes()
        place.response(request.id).write_bytes(answer)
        assert (await directory.obtain(request, LONG)).approved
        # Everything that lay there is put back, and the same call is made again, also after a restart.
        place.request_file(request.id).write_bytes(question)
        place.response(request.id).write_bytes(answer)
        assert summary(await directory.obtain(written(), 0)) == ("pending", None)
    with place.open() as directory:
        outcome = await directory.obtain(written(), 0)
        assert (outcome.state, outcome.request == request.id) == ("pending", False)
        assert outcome.request is not None
        place.response(outcome.request).write_bytes(answer)
        assert summary(await directory.obtain(written(), LONG)) == ("invalid", "other-request")


async def test_a_late_answer(tmp_path: Path) -> None:
    hands = Hands()
    place = Rendezvous(tmp_path, hands.clock)
    slow = Hands(wall=hands.wall)
    request = written(clock=hands.clock, seconds=60)
    with place.open() as directory:
        await directory.ask(request)
        hands.pass_time(61)
        assert summary(await directory.wait(request.id, LONG)) == ("expired", None)
        # Sealed in time, as far as the approver's clock goes, but put there after it was settled.
        content = Rendezvous(tmp_path, slow.clock).sealed_answer(request)
        assert summary(await directory.take(request.binding)) == ("expired", None)
        place.response(request.id).write_bytes(content)
        assert summary(await directory.obtain(written(clock=hands.clock), 0)) == ("pending", None)
    request = written(content="late", clock=hands.clock, seconds=60)
    with place.open() as directory:
        await directory.ask(request)
        content = place.sealed_answer(request)
        hands.pass_time(60 + 600)
        place.response(request.id).write_bytes(content)
        assert summary(await directory.obtain(written(content="late", clock=hands.clock), LONG)) == (
            "expired",
            "late",
        )


# -- requests -----------------------------------------------------------------------------------


async def test_a_request_edited_before_it_is_shown(place: Rendezvous) -> None:
    request = written("/srv/passwords")
    with place.open() as directory:
        await directory.ask(request)
        file = place.request_file(request.id)
        file.write_bytes(
            edited(
                file.read_bytes(), "request", "arguments", value={"path": "/srv/notes", "content": "hello"}
            )
        )
        with place.desk() as desk:
            (status,) = desk.statuses()
            assert (status.state, status.request) == ("unreadable", None)
            assert "seal" in status.problem


async def test_a_request_edited_after_it_was_shown(place: Rendezvous) -> None:
    """The answer is good for what was displayed, and for nothing else."""
    harmless, harmful = written("/srv/notes"), written("/srv/passwords")
    with place.open() as directory:
        await directory.ask(harmful)
        # The person sees another text under the id of the harmful call, and approves that.
        shown = harmless.model_copy(update={"id": harmful.id, "binding": harmful.binding})
        assert place.answer(shown) == "recorded"
        assert summary(await directory.obtain(harmful, LONG)) == ("invalid", "other-request")


async def test_a_request_under_another_requests_name(place: Rendezvous) -> None:
    first, second = written("/srv/notes"), written("/srv/passwords")
    with place.open() as directory:
        for request in (first, second):
            await directory.ask(request)
        place.request_file(second.id).write_bytes(place.request_file(first.id).read_bytes())
        with place.desk() as desk:
            found = {status.id: status.state for status in desk.statuses()}
        assert found == {first.id: "pending", second.id: "unreadable"}
        with pytest.raises(UntrustedFileError, match="copy of another"):
            directory._store.read_request(second.id)
    with place.open() as again:
        assert again.waiting == 1


HOSTILE = "\x1b[2J\x1b]0;x\x07\u202eevil\u200b\u2066\U000e0041\r\n> approved\x00\ufeff\u2028"


def test_what_the_agent_writes_cannot_style_or_hide() -> None:
    request = written(content=HOSTILE + "x" * 300 + "\nrequest 0000000000000000\n  tool:\n    | s harmless")
    shown = describe(request)
    assert not [c for c in shown if not (c == "\n" or c.isprintable())]
    inside = shown.split("arguments:\n")[1].split("  what it touches:")[0].splitlines()
    assert all(line.startswith(("    | ", "    : ")) for line in inside)
    assert all(len(line) <= 78 for line in shown.splitlines())
    assert shown.count("\nrequest ") == 0
    # Nothing is cut: the value can be read back from what is shown.
    text = "".join(line[6:] for line in inside)
    assert "x" * 300 in text
    for escape in (r"\x1b[2J", r"\u202e", r"\u200b", r"\u2066", r"\U000e0041", r"\x00", r"\ufeff", r"\u2028"):
        assert escape in text


# -- clocks -------------------------------------------------------------------------------------


async def test_the_wall_clock_goes_back_while_a_call_waits(tmp_path: Path) -> None:
    """The monotonic clock still ends the request."""
    hands = Hands()
    place = Rendezvous(tmp_path, hands.clock)
    request = written(clock=hands.clock, seconds=100)
    with place.open() as directory:
        await directory.ask(request)
        hands.pass_time(90)
        hands.jump(-50)
        assert summary(await directory.wait(request.id, 0.01)) == ("pending", None)
        hands.monotonic += 11
        assert place.answer(request) == "expired"
        assert summary(await directory.obtain(request, LONG)) == ("expired", None)


async def test_a_request_that_is_over_is_not_revived_by_a_clock_set_back(tmp_path: Path) -> None:
    """Nobody looked at it meanwhile, and the proxy is started anew: its end is still over."""
    hands = Hands()
    place = Rendezvous(tmp_path, hands.clock)
    request = written(clock=hands.clock, seconds=100)
    with place.open() as directory:
        await directory.ask(request)
    hands.pass_time(130)
    hands.jump(-60)
    assert place.answer(request) == "expired"
    with place.desk() as desk:
        assert desk.statuses() == ()
        status = desk.status(request.id)
        assert status is not None
        assert status.state == "expired"
    with place.open() as directory:
        assert summary(await directory.obtain(written(clock=hands.clock), LONG)) == ("expired", None)


async def test_the_clock_goes_back_behind_the_time_of_asking(tmp_path: Path) -> None:
    hands = Hands()
    place = Rendezvous(tmp_path, hands.clock)
    request = written(clock=hands.clock)
    with place.open() as directory:
        await directory.ask(request)
        hands.jump(-3600)
        assert place.answer(request) == "clock"
        assert summary(await directory.wait(request.id, LONG)) == ("expired", "clock")


async def test_the_clock_goes_ahead(tmp_path: Path) -> None:
    hands = Hands()
    place = Rendezvous(tmp_path, hands.clock)
    request = written(clock=hands.clock)
    with place.open() as directory:
        await directory.ask(request)
        hands.jump(86_400 * 365)
        assert place.answer(request) == "expired"
        assert summary(await directory.wait(request.id, LONG)) == ("expired", None)


async def test_a_restart_after_the_clock_went_back(tmp_path: Path) -> None:
    hands = Hands()
    place = Rendezvous(tmp_path, hands.clock)
    request = written(clock=hands.clock, seconds=100)
    with place.open() as directory:
        await directory.ask(request)
    hands.jump(-30)
    with place.open() as directory:
        hands.monotonic += 100
        assert summary(await directory.wait(request.id, LONG)) == ("expired", None)


# -- many at once -------------------------------------------------------------------------------


async def test_two_approvers_at_once(place: Rendezvous) -> None:
    request = written()
    said: list[str] = []

    async def answer(verdict: str) -> None:
        said.append(await anyio.to_thread.run_sync(place.answer, request, verdict))

    with place.open() as directory:
        await directory.ask(request)
        async with anyio.create_task_group() as group:
            for verdict in ("approved", "denied", "approved", "denied"):
                group.start_soon(answer, verdict)
        assert sorted(said) == ["answered", "answered", "answered", "recorded"]
        answer_file = json.loads(place.response(request.id).read_bytes())
        assert (await directory.obtain(request, LONG)).state == answer_file["answer"]["verdict"]


@pytest.mark.parametrize(
    ("most", "session", "said"),
    [(MAX_OF_SESSION, "test", "of this session wait already"), (MAX_WAITING, "another", "wait already")],
)
async def test_more_requests_than_can_wait(place: Rendezvous, most: int, session: str, said: str) -> None:
    model = written(session=session)
    with place.open() as directory:
        asked = directory._store.remember(model, model.binding)
        for number in range(most):
            directory._keep(replace(asked, id=f"{number:016x}", binding=f"sha256:{number:064x}"))
        outcome = await directory.obtain(written(content="one too many"), 0)
        assert summary(outcome) == ("no-approver", "directory")
        assert said in outcome.reason
        assert place.names() == []


async def test_ten_thousand_requests_wait(place: Rendezvous) -> None:
    """One more is asked about, found, answered and used among them; nothing is read again and again."""
    model, last = written(session="another"), written(content="last")
    with place.open() as directory:
        for number in range(10_000):
            document = {"id": f"{number:016x}", "binding": f"sha256:{number:064x}"}
            place.request_file(document["id"]).write_bytes(b"")
            directory._keep(directory._store.remember(model.model_copy(update=document), model.binding))
        await directory.ask(last)
        assert directory.waiting == 10_001
        with place.desk() as desk:
            assert len(desk.ids()) == 10_001
            status = desk.status(last.id)
            assert status is not None
            assert status.request == last
        assert place.answer(last) == "recorded"
        async with anyio.create_task_group() as group:
            for number in range(0, 10_000, 50):
                group.start_soon(directory.wait, f"{number:016x}", 0.3)
            assert (await directory.obtain(written(content="last"), LONG)).approved


def test_no_directory_no_requests(place: Rendezvous) -> None:
    assert ApprovalInbox.open(place.path, place.key) is None
