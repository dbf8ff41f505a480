"""Work that is done once for each state of its files, and again for a person where it failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from support.deployments.proxied import wait_for

from ironcurtain.errors import UsageError
from ironcurtain.web.once_per_state import OncePerState


def once(outcomes: Iterator[str | Exception], telling: float) -> OncePerState[str]:
    def work() -> str:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return OncePerState(lambda: "as it is", work, telling)


def ended(work: OncePerState[str]) -> Callable[[], bool]:
    return lambda: bool(work.progress().trouble or work.progress().result)


def test_what_failed_is_told_with_what_to_do_and_tried_again_only_for_a_person() -> None:
    work = once(iter([UsageError("it is missing", hint="Write it."), "found"]), telling=-1.0)
    wait_for(ended(work))
    assert work.progress().trouble == "it is missing. Write it."
    assert work.progress().trouble, "looking whether something changed begins nothing"
    assert work.progress(asked=True).trouble == ""
    wait_for(ended(work))
    assert work.progress(asked=True).result == "found"


def test_a_failure_is_told_to_all_who_ask_at_once() -> None:
    work = once(iter([UsageError("it is missing")]), telling=600.0)
    wait_for(ended(work))
    assert {work.progress(asked=True).trouble for _ in range(10)} == {"it is missing."}


def test_a_mistake_of_our_own_ends_the_wait() -> None:
    work = once(iter([KeyError("x")]), telling=600.0)
    wait_for(ended(work))
    assert work.progress().trouble == "KeyError('x')."
