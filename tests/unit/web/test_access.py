"""Codes that let browsers in, and sessions that end."""

from __future__ import annotations

import pytest
from support.records.approvals import Hands

from ironcurtain.web.access import MAX_SESSIONS, SESSION_SECONDS, Access


def entered(access: Access) -> str:
    cookie = access.exchange(access.new_code())
    assert cookie is not None
    return cookie


def test_a_code_is_good_once_and_only_the_newest() -> None:
    access = Access()
    old, new = access.new_code(), access.new_code()
    assert access.exchange(old) is None
    assert access.exchange(new) is not None
    assert access.exchange(new) is None
    assert access.exchange("") is None


@pytest.mark.parametrize("clock", ["wall", "monotonic"])
def test_a_session_ends_after_eight_hours_by_either_clock(clock: str) -> None:
    hands = Hands()
    access = Access(hands.clock)
    cookie = entered(access)
    for passed, is_in in ((SESSION_SECONDS - 1, True), (1, False)):
        if clock == "wall":
            hands.jump(passed)
        else:
            hands.monotonic += passed
        assert (access.session(cookie) is not None) is is_in


def test_sessions_are_bounded_and_the_oldest_goes() -> None:
    access = Access()
    cookies = [entered(access) for _ in range(MAX_SESSIONS + 1)]
    assert [access.session(cookie) is not None for cookie in cookies] == [False] + [True] * MAX_SESSIONS


def test_who_leaves_is_out_and_at_the_end_everybody_is() -> None:
    access = Access()
    first, second = entered(access), entered(access)
    access.leave(first)
    assert (access.session(first), access.session(second) is None) == (None, False)
    code = access.new_code()
    access.close()
    assert access.session(second) is None
    assert access.exchange(code) is None
