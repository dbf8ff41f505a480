"""An evaluator of specification 3 in plain Python, written from the specification and not from our Rego.

It reads rules as JSON (`compiled-policy.json`) and policy inputs, and says what the decision has to be.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, TypeAlias

import re2

JsonObject: TypeAlias = dict[str, Any]

Question: TypeAlias = Mapping[str, Any]
"""A policy input."""

SCALE = {"times", "plus", "measure"}
"""What may stand beside a reference."""
SEVERITY = {"deny": 2, "escalate": 1, "allow": 0}
ABSENT = None
UNKNOWN = None
"""The third outcome of a test: it needs a fact that is absent or of another type."""


def decide(rules: list[JsonObject], call: Question) -> JsonObject:
    """Return {verdict, rule, subject, subjects: {id: {verdict, rule}}}."""
    judged = {}
    for id_, subject in call["subjects"].items():
        order, name, verdict = _judge(rules, call, id_, subject)
        judged[id_] = (-SEVERITY[verdict], order, id_, verdict, name)
    winner = min(judged.values())
    return {
        "verdict": winner[3],
        "rule": winner[4],
        "subject": winner[2],
        "subjects": {id_: {"verdict": found[3], "rule": found[4]} for id_, found in judged.items()},
    }


def _judge(rules: list[Any], call: Question, id_: str, subject: JsonObject) -> tuple[float, str, str]:
    for order, rule in enumerate(rules, 1):
        if subject["discharged"] and not rule["if"].get("in_sandbox"):
            continue
        if _justifies(rule, call, id_, subject["role"]):
            return order, rule["name"], rule["then"]
    if subject["discharged"]:
        return float("inf"), "structural-sandbox-allow", "allow"
    return float("inf"), "default-deny", "deny"


def _justifies(rule: JsonObject, call: Question, id_: str, role: str) -> bool:
    condition = rule["if"]
    patterned = [c for key in ("paths", "domains", "lists") for c in _many(condition.get(key))]
    named = {r for c in patterned for r in c["roles"]} | set(condition.get("roles", []))
    if named and role not in named:
        return False
    for c in patterned:
        if role in c["roles"]:
            if not _covered(call, id_, role, c):
                return False
        elif not _guard(rule, call, c):
            return False
    if "roles" in condition and role not in condition["roles"] and not _seen(rule, call, condition["roles"]):
        return False
    return _call_holds(condition, call, rule["then"])


def _guard(rule: JsonObject, call: Question, c: JsonObject) -> bool:
    covered = [_covered(call, id_, role, c) for id_, role in _seen(rule, call, c["roles"])]
    if rule["then"] != "allow":
        return any(covered)
    return all(covered) and (bool(covered) or c.get("or_none", False))


def _seen(rule: JsonObject, call: Question, roles: list[Any]) -> list[tuple[str, str]]:
    everything = rule["if"].get("in_sandbox", False)
    return [
        (id_, s["role"])
        for id_, s in call["subjects"].items()
        if s["role"] in roles and (everything or not s["discharged"])
    ]


def _covered(call: Question, id_: str, role: str, c: JsonObject) -> bool:
    patterns = c["within"] if "within" in c else c["allowed"]
    places = (call["within"], call["sandboxed"]["within"])
    return any(id_ in place.get(role, {}).get(p, {}) for place in places for p in patterns)


def _call_holds(condition: JsonObject, call: Question, then: str) -> bool:
    return (
        call["server"] in condition.get("server", [call["server"]])
        and call["tool"] in condition.get("tool", [call["tool"]])
        and call["side_effects"] is condition.get("side_effects", call["side_effects"])
        and all(holds(t, "args", call, then) for t in condition.get("args", []))
        and all(holds(t, "caller", call, then) for t in condition.get("caller", []))
        and all(fact_holds(t, call, then) for t in condition.get("facts", []))
    )


def fact_holds(test: JsonObject, call: Question, then: str) -> bool:
    """Tell whether a test of a declared fact holds in a rule that says `then`."""
    value, op, operand = call["facts"].get(test["fact"]), test["op"], test["value"]
    place = "constant"
    if isinstance(operand, dict):
        ((place, pointer),) = ((key, each) for key, each in operand.items() if key not in SCALE)
        root = {"arg": "args", "caller": "caller", "fact": "facts"}[place]
        operand = call["facts"].get(pointer) if root == "facts" else _find(call[root], _path(pointer))
    unknown = then != "allow"
    if value is ABSENT or (operand is ABSENT and place in ("caller", "fact")):
        return unknown
    if op in ("contains", "not_contains"):
        if not isinstance(operand, str):
            return unknown if place in ("caller", "fact") else False
        return (operand in value) is (op == "contains")
    if op in ("older_than", "younger_than"):
        seconds = int(operand[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[operand[-1]]
        return bool(value > seconds if op == "older_than" else value < seconds)
    if op == "within":
        return any(_within(value, time) for time in operand)
    if operand is ABSENT:
        return False
    if place != "constant" and (op in ("lt", "le", "gt", "ge") or len(test["value"]) > 1):
        outcome = _relation(test, value, operand, UNKNOWN)
    else:
        outcome = _compare({"name": "value", "op": op, "value": operand}, "caller", value, call)
    return unknown if outcome is UNKNOWN else outcome


def _within(minute: int, time: str) -> bool:
    """Tell whether a minute of the week lies in a time such as `mon-fri 09:00-17:00`."""
    days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    names, _, hours = time.rpartition(" ") if " " in time or ":" in time else (time, "", "")
    first, _, last = (names or "mon-sun").partition("-")
    start, end = days.index(first), days.index(last or first)
    meant = [(start + n) % 7 for n in range((end - start) % 7 + 1)]
    opens, _, closes = (hours or "00:00-24:00").partition("-")
    begin, stop = (int(text[:2]) * 60 + int(text[3:]) for text in (opens, closes))
    long = (stop - begin) % 1440 or 1440
    return any((minute - day * 1440 - begin) % 10080 < long for day in meant)


def holds(test: JsonObject, root: str, call: Question, then: str) -> bool:
    """Tell whether a test of an argument or caller fact holds in a rule that says `then`.

    A condition on an unknown is false in an allow rule and true in a deny or escalate rule.
    """
    outcome = _outcome(test, root, call)
    return then != "allow" if outcome is UNKNOWN else outcome


def _outcome(test: JsonObject, root: str, call: Question) -> bool | None:
    """Return true, false or UNKNOWN; null counts as absent."""
    path = _path(test["name"])
    if _operand(test, call)[0] == "caller" and _operand(test, call)[1] is ABSENT:
        return UNKNOWN
    if "also_in" in test:
        names = (test["name"], *test["also_in"])
        found = [_compare(test, root, _find(call[root], _path(name)), call) for name in names]
        return True if True in found else UNKNOWN if UNKNOWN in found else False
    if test.get("of") == "keys":
        found_there = _find(call[root], path)
        if not isinstance(found_there, dict):
            return False
        path, star, elements = [*path, "*"], len(path), [*found_there]
    elif "*" not in path:
        return _compare(test, root, _find(call[root], path), call)
    else:
        star = path.index("*")
        elements = _find(call[root], path[:star])
    if elements is ABSENT:
        return _compare(test, root, ABSENT, call)
    if not isinstance(elements, list):
        return UNKNOWN if root == "caller" else False
    if "count" in test:
        return _counted(test, [_find(element, path[star + 1 :]) for element in elements])
    results = [_compare(test, root, _find(element, path[star + 1 :]), call) for element in elements]
    decisive = test.get("over") == "some"  # one true element settles "some", one false element "every"
    if not results:
        return False
    if decisive in results:
        return decisive
    return UNKNOWN if UNKNOWN in results else not decisive


def _counted(test: JsonObject, values: list[Any]) -> bool:
    """Tell whether so many elements satisfy a test; one of another type than it compares makes it false."""
    given = [value for value in values if value is not ABSENT]
    compared = test["value"][0] if test["op"] in ("in", "contains_any") else test["value"]
    if any(_type(value) != _type(compared) for value in given):
        return False
    plain: JsonObject = {key: test[key] for key in ("op", "name", "value", "ignore_case") if key in test}
    call: Any = {"args": {}, "caller": {}}
    number = [_compare(plain, "args", value, call) for value in given].count(True)
    ((op, bound),) = test["count"].items()
    outcomes = {"le": number <= bound, "ge": number >= bound, "equals": number == bound}
    return bool(outcomes[op])


def _operand(test: JsonObject, call: Question) -> tuple[str, Any]:
    """Return where the operand of a test comes from (`constant`, `args` or `caller`), and its value."""
    operand = test["value"]
    if isinstance(operand, dict) and set(operand) - SCALE in ({"caller"}, {"arg"}):
        ((kind, pointer),) = ((key, value) for key, value in operand.items() if key not in SCALE)
        place = "caller" if kind == "caller" else "args"
        return place, _find(call[place], _path(pointer))
    return "constant", operand


def _compare(test: JsonObject, root: str, value: Any, call: Question) -> bool | None:
    op, (place, operand) = test["op"], _operand(test, call)
    if "part" in test:
        return test.get("or_absent", False) if value is ABSENT else _of_moments(test, value, operand, place)
    if value is ABSENT and root == "caller":
        return UNKNOWN if op != "present" or operand is True else True
    if op == "present":
        return (value is not ABSENT) is operand
    if value is ABSENT:
        return bool(test.get("or_absent", False))
    if operand is ABSENT:
        return False
    mistyped = UNKNOWN if "caller" in (root, place) else False
    if place != "constant" and (op in ("lt", "le", "gt", "ge") or len(test["value"]) > 1):
        return _relation(test, value, operand, mistyped)
    if "measure" in test:
        wanted = list if test["measure"] == "count" else str
        if not isinstance(value, wanted):
            return mistyped
        value = len(value)
    kind = _type(operand[0] if op in ("in", "not_in", "contains_any") else operand)
    if _type(value) != kind:
        return mistyped
    if test.get("ignore_case") or op == "contains_any":
        return _of_texts(op, value, operand, ignore_case=test.get("ignore_case", False))
    same = [_same(value, one) for one in (operand if op in ("in", "not_in") else [operand])]
    if op in ("equals", "in"):
        return any(same)
    if op in ("not_equals", "not_in"):
        return not any(same)
    if op == "matches":
        return re2.fullmatch(f"(?s:{operand})", value) is not None
    ordered = {"lt": value < operand, "le": value <= operand, "gt": value > operand, "ge": value >= operand}
    return bool(ordered[op])


def _relation(test: JsonObject, value: Any, operand: Any, mistyped: bool | None) -> bool | None:
    """Compare a number (or how many elements there are) with `times` another one, `plus`."""
    scale = test["value"]
    left = _length(value) if test.get("measure") == "count" else value
    right = _length(operand) if scale.get("measure") == "count" else operand
    if _type(left) != "number" or _type(right) != "number":
        return mistyped
    if "times" in scale or "plus" in scale:
        if right != math.floor(right) or abs(right) > 10**9:
            return mistyped
        right = Fraction(right) * scale.get("times", 1) + scale.get("plus", 0)
    difference = Fraction(left) - Fraction(right)
    held = {"equals": difference == 0, "not_equals": difference != 0, "lt": difference < 0}
    held |= {"le": difference <= 0, "gt": difference > 0, "ge": difference >= 0}
    return held[test["op"]]


def _length(value: Any) -> Any:
    return len(value) if isinstance(value, list) else None


def _of_moments(test: JsonObject, value: Any, operand: Any, place: str) -> bool:
    """Compare days, times of day or moments, by Python's own reading of ISO 8601."""
    part, left = test["part"], _moment(value)
    if left is None or (part == "time" and "T" not in value):
        return False
    if test["op"] == "within":
        time = left.strftime("%H:%M:%S")
        spans = [text.split("-") for text in test["value"]]
        return any((a <= time < b) if a < b else (time >= a or time < b) for a, b in spans)
    if part == "time" and place == "constant":
        operand = f"2000-01-01T{operand}"
    right = _moment(operand)
    if right is None or (part == "time" and "T" not in operand):
        return False
    if place != "constant" and part == "instant" and (left.tzinfo is None) != (right.tzinfo is None):
        return False
    sides: dict[str, Any] = {
        "date": (left.date(), right.date()),
        "time": (left.strftime("%H:%M:%S"), right.strftime("%H:%M:%S")),
        "instant": tuple((t if t.tzinfo else t.replace(tzinfo=UTC)).timestamp() for t in (left, right)),
    }
    a, b = sides[part]
    later = test["value"].get("plus", "0s") if place != "constant" else "0s"
    amount = int(later[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[later[-1]]
    if part != "time":
        b += timedelta(seconds=amount) if part == "date" else amount
    held = {"equals": a == b, "not_equals": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
    return bool(held[test["op"]])


def _moment(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return None if found is None else found.replace(microsecond=0)


def _of_texts(op: str, value: str, operand: Any, *, ignore_case: bool) -> bool:
    """Compare texts of ASCII letters, perhaps in lower case; expressions by RE2's own flag."""
    if op == "matches":
        return re2.fullmatch(f"(?is:{operand})", value) is not None
    texts = operand if isinstance(operand, list) else [operand]
    if ignore_case:
        value, texts = value.lower(), [text.lower() for text in texts]
    return any(text in value for text in texts) if op == "contains_any" else value in texts


def _same(a: Any, b: Any) -> bool:
    if _type(a) != _type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(itertools.starmap(_same, zip(a, b, strict=True)))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    return bool(a == b)


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _find(value: Any, path: list[str]) -> Any:
    for token in path:
        value = value.get(token) if isinstance(value, dict) else None
    return value


def _path(name: str) -> list[str]:
    if not name.startswith("/"):
        return [name]
    return [token.replace("~1", "/").replace("~0", "~") for token in name.split("/")[1:]]


def _many(one: Any) -> list[Any]:
    return one if isinstance(one, list) else [] if one is None else [one]
