"""Policies that are ready to decide: one engine for every machine, and another one when the files changed."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import pytest
from starlette.requests import ClientDisconnect
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.enforcement.audit.recent import RecentRecords
from ironcurtain.errors import RefusedRootError, ScenarioError
from ironcurtain.model.scenarios import DescribedWorld, ScenarioCall
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import replace
from ironcurtain.web.access import Access
from ironcurtain.web.app import PageSources, unguarded_pages
from ironcurtain.web.approvals import WaitingApprovals
from ironcurtain.web.playground_policy import OpenPlayground, Playground, WarmPolicy

SHOP = Path(__file__).parents[3] / "examples" / "shop" / "generated" / "bundle"
MACHINE = DescribedWorld(sandbox="/home/user/sandbox")
CALL = ScenarioCall(server="s", tool="read", arguments={"path": "/srv/notes/a"})


@pytest.fixture(autouse=True)
def engines_end() -> Iterator[None]:
    """End the engines of policies that only an expected error still refers to."""
    yield
    gc.collect()


def write(directory: Path, then: str) -> Path:
    paths = {"roles": ["read-path"], "within": ["/srv/notes"]}
    return write_bundle(directory, {"s": [tool("read", path=["read-path"])]}, [rule("r", then, paths=paths)])


def warm(directory: Path, then: str) -> WarmPolicy:
    return WarmPolicy(open_bundle(write(directory, then), Trust()), MACHINE, None)


def test_one_engine_decides_on_every_machine(tmp_path: Path) -> None:
    policy = warm(tmp_path, "allow")
    assert policy.explain(CALL, MACHINE).decision.verdict is Verdict.ALLOW
    for number in range(10):
        other = MACHINE.model_copy(update={"symlinks": {"/srv/notes/a": f"/srv/elsewhere{number}"}})
        told = policy.explain(CALL, other)
        assert told.decision.verdict is Verdict.DENY
        assert [each.value for each in told.subjects] == [f"/srv/elsewhere{number}"]
    assert policy.explain(CALL, MACHINE).decision.verdict is Verdict.ALLOW


def test_what_cannot_be_is_told_and_the_engine_goes_on(tmp_path: Path) -> None:
    policy = warm(tmp_path, "allow")
    with pytest.raises(RefusedRootError, match="home directory"):
        policy.explain(CALL, DescribedWorld(sandbox="/home/user"))
    with pytest.raises(ScenarioError, match="no fact"):
        policy.explain(CALL.model_copy(update={"facts": {"none": 1}}), MACHINE)
    assert policy.explain(CALL, MACHINE).decision.verdict is Verdict.ALLOW


def test_what_nobody_waits_for_any_more_is_given_up_and_the_policy_goes_on(tmp_path: Path) -> None:
    policy, refused = warm(tmp_path, "allow"), CALL.model_copy(update={"arguments": {"path": "/etc/passwd"}})
    found = policy.explain(refused, MACHINE)
    assert found.suggestions
    for asked in range(3):
        answers = iter([True] * asked + [False])
        with pytest.raises(ClientDisconnect):
            policy.explain(refused, MACHINE, wanted=lambda: next(answers))  # noqa: B023 - it is called at once
        assert next(answers, None) is None
    assert policy.explain(refused, MACHINE) == found


def test_a_browser_that_has_gone_gets_no_explanation(tmp_path: Path) -> None:
    playground = Playground(warm(tmp_path, "allow"), MACHINE)
    waiting, records = WaitingApprovals(tmp_path, tmp_path), RecentRecords(tmp_path)
    shown = PageSources(waiting, records, lambda _: pytest.fail("it is asked"))
    shown = replace(shown, playground=OpenPlayground(lambda: "as it is", lambda: playground))
    app = unguarded_pages(Access(), shown, lambda: None, print)
    asked = json.dumps({"server": "s", "tool": "read", "arguments": {"path": "/etc/passwd"}})

    async def statuses(*, stays: bool) -> list[int]:
        messages = iter([{"type": "http.request", "body": b"", "more_body": False}])
        sent: list[Any] = []

        async def receive() -> Any:
            if (message := next(messages, None)) is not None:
                return message
            if stays:
                await anyio.sleep_forever()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": "/playground",
            "headers": [],
            "root_path": "",
        }
        scope |= {
            "query_string": urlencode({"call": asked}).encode(),
            "server": ("here", 80),
            "scheme": "http",
        }
        await app(scope, receive, send)
        return [each["status"] for each in sent if each["type"] == "http.response.start"]

    assert anyio.run(partial(statuses, stays=True)) == [200]
    assert anyio.run(partial(statuses, stays=False)) == [499]


def test_a_playground_is_opened_anew_only_when_its_files_changed(tmp_path: Path) -> None:
    states = iter(["a", "a", "b"])
    verdicts = iter(["allow", "deny"])

    def load() -> Playground:
        return Playground(warm(tmp_path, next(verdicts)), MACHINE)

    opened = OpenPlayground(lambda: next(states), load)
    first = opened.get()
    assert opened.get() is first
    second = opened.get()
    assert second is not first
    assert first.policy.explain(CALL, MACHINE).decision.verdict is Verdict.ALLOW
    assert second.policy.explain(CALL, MACHINE).decision.verdict is Verdict.DENY


def test_an_older_policy_is_asked_without_the_facts_that_it_does_not_declare(tmp_path: Path) -> None:
    shop = WarmPolicy(open_bundle(SHOP, Trust()), MACHINE, None)
    call = ScenarioCall(
        server="shop",
        tool="cancel_order",
        facts={
            "order": {"status": "pending", "new": 1},
            "order/user_id": "ada",
            "later": True,
            "other": {"a": 1},
        },
    )
    known = shop.known_of(call)
    assert known.facts == {"order": {"status": "pending"}, "order/user_id": "ada"}
    assert known.model_copy(update={"facts": call.facts}) == call
    older = warm(tmp_path, "allow")
    assert older.known_of(call).facts is None
    assert older.explain(older.known_of(call), MACHINE).decision.rule == "structural-unknown-tool"
