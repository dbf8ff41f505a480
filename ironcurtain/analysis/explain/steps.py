"""The seven steps of one decision, each with what it found."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.explain.report import Step
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.validate import InvalidArgumentsError, ValidatedTool
from ironcurtain.decision.decide import Call, Prepared, arguments_of
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import reserved
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import cut, quoted, visible

NAMES = (
    "parse",
    "know the tool",
    "fit the arguments",
    "make canonical",
    "check the structure",
    "ask the policy",
    "merge",
)
_SHOWN = 40


def steps(
    call: Call, decision: Decision, prepared: Prepared | Decision, policy: LoadedPolicy
) -> tuple[Step, ...]:
    """Return the seven steps of a decided call.

    Args:
        call: The call as it arrived.
        decision: What was decided.
        prepared: The same call after steps 1 to 5, or its early end.
        policy: The policy that decided.
    """
    end = _end(decision, prepared)
    found = _Found(call, decision, prepared, policy)
    return tuple(
        Step(
            number=number,
            name=name,
            passed=number < end if number <= end else None,
            found=_cut(found.of(number)) if number < end else (decision.reason,) if number == end else (),
        )
        for number, name in enumerate(NAMES, 1)
    )


def filled(tool: ValidatedTool, call: Call, policy: LoadedPolicy) -> dict[str, JsonValue] | None:
    """Return the arguments of a call with defaults filled in, None if they do not fit."""
    given = arguments_of(call)
    if given is None:
        return None
    try:
        return tool.fit(given, has_working_root=policy.site.working_root(call.server) is not None)
    except InvalidArgumentsError:
        return None


def _end(decision: Decision, prepared: Prepared | Decision) -> int:
    """Return the number of the step that ended the call early, 8 if none did."""
    rule = reserved(decision.rule)
    if isinstance(prepared, Prepared):
        return 6 if rule is not None and rule.gives_no_answer else 8
    if rule is not None and len(rule.facts.steps) == 1:
        return rule.facts.steps[0]
    return 4 if decision.arguments is None else 5


class _Found:
    """What the steps of one call found, in lines."""

    def __init__(
        self, call: Call, decision: Decision, prepared: Prepared | Decision, policy: LoadedPolicy
    ) -> None:
        self._call = call
        self._decision = decision
        self._prepared = prepared
        self._policy = policy

    def of(self, number: int) -> Iterator[str]:
        """Yield what a step that was passed found."""
        makers = (
            self._parse,
            self._know,
            self._fit,
            self._canonical,
            self._structure,
            self._asked,
            self._merged,
        )
        return makers[number - 1]()

    def _parse(self) -> Iterator[str]:
        given = arguments_of(self._call) or {}
        names = ", ".join(quoted(name) for name in given)
        yield f"arguments: {names}" if given else "no arguments"
        if self._call.caller:
            yield f"caller facts: {', '.join(quoted(str(name)) for name in self._call.caller)}"

    def _know(self) -> Iterator[str]:
        tool = self._tool().annotation
        yield "it changes things" if tool.side_effects else "it only looks"
        yield "all it does lies under its arguments" if tool.contained else "it can act beyond its arguments"
        drift = self._decision.drift_checked
        yield "it is the one that was annotated" if drift else "not compared with the live tool"

    def _fit(self) -> Iterator[str]:
        given, full = arguments_of(self._call) or {}, filled(self._tool(), self._call, self._policy) or {}
        added = {name: value for name, value in full.items() if given.get(name) is None}
        for name, value in added.items():
            yield f"{visible(name)} was filled in: {_shown(value)}"
        if not added:
            yield "nothing had to be filled in"

    def _canonical(self) -> Iterator[str]:
        yield from list(self._spelled()) or ["every argument is written as it is judged"]
        yield from self._subjects()

    def _spelled(self) -> Iterator[str]:
        before = filled(self._tool(), self._call, self._policy) or {}
        after = self._decision.arguments or {}
        olds = {pointers.join(steps): value for steps, value in pointers.leaves(before)}
        for steps, value in pointers.leaves(after):
            place = pointers.join(steps)
            if olds.get(place) != value:
                yield f"{visible(place)} is {_shown(value)}"

    def _subjects(self) -> Iterator[str]:
        if isinstance(self._prepared, Prepared):
            for subject in self._prepared.call.subjects:
                if subject.at:
                    yield f"{visible(subject.at)}: {subject.role.name} {visible(subject.value)}"
                else:
                    yield "no resource: the call itself is judged"

    def _structure(self) -> Iterator[str]:
        if not isinstance(self._prepared, Prepared):
            return
        floor = self._prepared.floor
        for subject in self._prepared.call.subjects:
            where = f"{visible(subject.at)} ({subject.role.name})"
            if subject.id in floor.discharged:
                yield f"{where} lies in the sandbox and needs no rule"
            if subject.id in floor.escalated:
                rule, reason = floor.escalated[subject.id]
                yield f"{where} needs at least approval: {rule}: {reason}"
        if not floor.discharged and not floor.escalated:
            yield "nothing to add"

    def _asked(self) -> Iterator[str]:
        for subject in self._decision.subjects:
            where = f"{visible(subject.at)} ({subject.role})" if subject.at else "the call"
            yield f"{where}: {subject.verdict} by {visible(subject.rule)}"

    def _merged(self) -> Iterator[str]:
        yield f"{self._decision.verdict} by {visible(self._decision.rule)}"

    def _tool(self) -> ValidatedTool:
        tool = self._policy.tool(self._call.server, self._call.tool)
        if tool is None:
            raise LookupError("a step was passed that only an annotated tool passes")
        return tool


def _shown(value: JsonValue) -> str:
    return cut(json_text.shown(value))


def _cut(lines: Iterator[str]) -> tuple[str, ...]:
    found = list(lines)
    more = (f"and {len(found) - _SHOWN} more",) if len(found) > _SHOWN else ()
    return (*found[:_SHOWN], *more)
