"""Limits of a rule that are no resource: who the agent acts for, and how much.

`transfer` for at most 100, or of the caller's own account, is not "whatever it names", although the rule
names no list of accounts.
"""

from __future__ import annotations

from ironcurtain.model.policy import ArgCondition, If

_UPPER = frozenset({"lt", "le"})
_LOWER = frozenset({"gt", "ge"})
_SAME = frozenset({"equals", "in", "matches"})


def is_limited(condition: If) -> bool:
    """Tell whether a condition holds for some callers or some amounts only."""
    return any(_is_value(test) for test in condition.caller or ()) or any(
        _is_callers(test) or _is_bound(test) for test in condition.args or ()
    )


def _is_value(test: ArgCondition) -> bool:
    """Tell whether a fact must have a value; that there is one says little about who asks."""
    return test.op in _SAME | _UPPER | _LOWER and not test.or_absent


def _is_callers(test: ArgCondition) -> bool:
    """Tell whether an argument must be what is known of the caller, and not merely of the call."""
    named = isinstance(test.value, dict) and "caller" in test.value
    return named and test.op in _SAME | _UPPER and test.over == "every" and not test.or_absent


def _is_bound(test: ArgCondition) -> bool:
    """Tell whether an amount has a bound; a length is no amount, and "more than nothing" no bound."""
    if not isinstance(test.value, int | float) or isinstance(test.value, bool):
        return False
    bound = test.op in _UPPER or (test.op in _LOWER and test.value > 0)
    return bound and test.measure is None and test.over == "every" and not test.or_absent
