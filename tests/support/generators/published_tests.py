"""Random tests of arguments and caller facts, every operator and kind of operand included."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from ironcurtain.compiler.annotate.schema_leaves import SchemaLeaf, schema_leaves
from ironcurtain.decision.canonical import pointers
from support.generators.published_values import Values, changed, containers, extremes
from support.projects.policies import of_caller

FACTS: dict[str, list[Any]] = {
    "sub": ["alice", "u1", "x", "secret", 7, None, ["alice"]],
    "age": [17, 18, 18.5, "18", None, True],
    "groups": [[], ["staff"], ["a", "staff"], ["staff", None], "staff", [1], ["a"], ["a", "b"]],
    "team": [{}, {"k": "a"}, {"k": None}, {"k": "x1", "list": ["a"]}, ["a"], "a", None],
}
CALLER = {
    "sub": of_caller("string", "alice"),
    "age": of_caller("number", 18),
    "groups": of_caller("strings", ["staff"]),
    "team": of_caller("object", {"k": "a"}),
    "/team/k": of_caller("string", "a"),
    "/team/list": of_caller("strings", ["a"]),
}
"""What is declared about the caller; `FACTS` holds values of other types, too."""
_FACT_TESTS: list[dict[str, Any]] = [
    {"name": "/sub", "op": "equals", "value": "alice"},
    {"name": "/sub", "op": "not_in", "value": ["alice", "u1"]},
    {"name": "/sub", "op": "matches", "value": "(?i)A.*"},
    {"name": "/sub", "op": "present", "value": True},
    {"name": "/sub", "op": "equals", "value": {"caller": "/team/k"}},
    {"name": "/age", "op": "lt", "value": 18},
    {"name": "/age", "op": "ge", "value": 18},
    {"name": "/groups/*", "op": "equals", "value": "staff", "over": "some"},
    {"name": "/groups/*", "op": "not_equals", "value": "staff"},
    {"name": "groups", "op": "ge", "value": 1, "measure": "count"},
    {"name": "groups", "op": "equals", "value": ["a"]},
    {"name": "groups", "op": "not_equals", "value": {"caller": "/team/list"}},
    {"name": "/team/k", "op": "not_equals", "value": "a"},
    {"name": "team", "op": "in", "value": [{"k": "a"}, {}]},
]
_REFERRED = ["/sub", "/sub", "/groups", "/team", "/team/k", "/age"]


class TestMaker:
    """Makes the tests of one tool's rules and guarantees.

    Args:
        random: The source of chance.
        tool: The annotated tool.
    """

    __test__ = False

    def __init__(self, random: Random, tool: Mapping[str, Any]) -> None:
        self._random = random
        schema = tool["input_schema"]
        self._values = Values(schema, ["secret", "alice"])
        self._leaves = [leaf for leaf in schema_leaves(schema) if _is_free(tool, leaf)]

    def tests(self, then: str, share: float) -> dict[str, Any]:
        """Return `args` and `caller` of a condition, each or both perhaps left away."""
        random, found = self._random, dict[str, Any]()
        if self._leaves and random.random() < share:
            count = min(len(self._leaves), random.choice([1, 1, 2]))
            found["args"] = [self._test(leaf) for leaf in random.sample(self._leaves, count)]
        if random.random() < 0.2:
            pool = [*_FACT_TESTS, *([_ABSENT] if then != "allow" else []), *self._about_arguments()]
            found["caller"] = [copy.deepcopy(random.choice(pool))]
        return found

    def _about_arguments(self) -> Iterator[dict[str, Any]]:
        """Yield tests of facts that refer to an argument."""
        if self._leaves and self._random.random() < 0.5:
            name = self._random.choice(self._leaves).name
            fact, op = self._random.choice(_REFERRED), self._random.choice(["equals", "not_equals"])
            yield {"name": fact, "op": op, "value": {"arg": name}}

    def _test(self, leaf: SchemaLeaf) -> dict[str, Any]:
        random = self._random
        value = self._values.value(random, leaf.schema)
        name = leaf.name
        if isinstance(value, dict) and not leaf.inner and random.random() < 0.4:
            name = pointers.join((*pointers.steps_of(name), random.choice(["k", "x1"])))
            value = random.choice(["a", "secret", 7, True, ["a"]])
        test: dict[str, Any] = {"name": name, **self._compared(value)}
        if pointers.EVERY in pointers.steps_of(name) and random.random() < 0.5:
            test["over"] = "some"
        if test["op"] != "present" and random.random() < 0.4:
            test["or_absent"] = True
        return test

    def _compared(self, value: Any) -> dict[str, Any]:
        random = self._random
        value = self._moved(value)
        kinds: list[dict[str, Any]] = [{"op": "present", "value": random.random() < 0.5}]
        if value is not None:
            kinds += [{"op": op, "value": value} for op in ("equals", "equals", "not_equals")]
            listed = [value, *random.sample(list(changed(value)), random.choice([0, 0, 1, 2]))]
            alike = [each for each in listed if type(each) is type(value)]
            kinds += [{"op": op, "value": alike} for op in ("in", "not_in")]
        if isinstance(value, int | float) and not isinstance(value, bool):
            kinds += [{"op": op, "value": value} for op in ("lt", "le", "gt", "ge")] * 2
        if isinstance(value, str):
            kinds += [{"op": "matches", "value": _expression(random, value)}] * 4
            kinds.append({"op": "le", "value": random.choice([0, 1, 3, 10, 2.5]), "measure": "length"})
        if isinstance(value, list):
            counts = [{"op": op, "value": n} for op in ("ge", "lt", "equals") for n in (0, 1, 2, 1.5)]
            kinds += [{**random.choice(counts), "measure": "count"} for _ in range(3)]
        if random.random() < 0.4:  # comparisons of two values are much dearer to examine than others
            refer = [{"caller": random.choice(_REFERRED)}, {"arg": random.choice(self._leaves).name}]
            kinds += [{"op": op, "value": random.choice(refer)} for op in ("equals", "not_equals")] * 2
        return copy.deepcopy(random.choice(kinds))

    def _moved(self, value: Any) -> Any:
        """Return a value, or perhaps one like it that a schema would not make."""
        random = self._random
        if random.random() > 0.25 or value is None:
            return value
        if isinstance(value, list | dict):
            return random.choice([*containers(), *changed(value)])
        if isinstance(value, int | float) and not isinstance(value, bool):
            return random.choice(extremes())
        return value


_ABSENT = {"name": "/sub", "op": "present", "value": False}


def _expression(random: Random, text: str) -> str:
    plain = re.escape(text[:12] or "a").replace("\\\n", "\\n")
    return random.choice(
        [
            plain,
            f"(?i){plain}",
            f"(?s).*{plain}.*",
            ".*(?i:secret).*",
            "[a-z]+",
            f"{plain}|x1",
            "[^/]*",
            r"\d+",
            "^soft$|x{12}",
            r"\bab\b",
            "(?m)^b$",
            ".?",
            r"\pL+" if random.random() < 0.1 else r"\w+",
        ]
    )


def _is_free(tool: Mapping[str, Any], leaf: SchemaLeaf) -> bool:
    """Tell whether rules may test a place: nothing at, above or below it has a resource role."""
    return not any(
        argument.get("roles") != ["none"]
        and pointers.steps_of(argument["name"])[0] == pointers.steps_of(leaf.name)[0]
        for argument in tool["args"]
    )
