"""The seven steps of one decision, each with what it found."""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.explain.report import ExplainedStep
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.decide import Call, Prepared, TracedDecision
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


def steps(call: Call, traced: TracedDecision) -> tuple[ExplainedStep, ...]:
    """Return the seven steps of a call, as it arrived and as it was decided."""
    decision, end = traced.decision, _end(traced)
    found = _Found(call, traced)
    return tuple(
        ExplainedStep(
            number=number,
            name=name,
            passed=number < end if number <= end else None,
            found=_cut(found.of(number)) if number < end else (decision.reason,) if number == end else (),
        )
        for number, name in enumerate(NAMES, 1)
    )


def _end(traced: TracedDecision) -> int:
    """Return the number of the step that ended the call early, 8 if none did."""
    if not isinstance(traced.trace.outcome, Prepared):
        return traced.trace.passed + 1
    rule = reserved(traced.decision.rule)
    return 6 if rule is not None and rule.gives_no_answer else 8


class _Found:
    """What the steps of one call found, in lines."""

    def __init__(self, call: Call, traced: TracedDecision) -> None:
        self._call = call
        self._decision = traced.decision
        self._trace = traced.trace
        self._prepared = traced.trace.outcome

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
        given = self._trace.arguments or {}
        names = ", ".join(quoted(name) for name in given)
        yield f"arguments: {names}" if given else "no arguments"
        if self._call.caller:
            yield f"caller facts: {', '.join(quoted(str(name)) for name in self._call.caller)}"

    def _know(self) -> Iterator[str]:
        if self._trace.tool is None:
            return
        tool = self._trace.tool.annotation
        acts = "it takes resources or changes things"
        yield acts if tool.side_effects else "it takes no resource and changes nothing"
        yield "all it does lies under its arguments" if tool.contained else "it can act beyond its arguments"
        drift = self._decision.drift_checked
        yield "it is the one that was annotated" if drift else "not compared with the live tool"

    def _fit(self) -> Iterator[str]:
        given, full = self._trace.arguments or {}, self._trace.filled or {}
        added = {name: value for name, value in full.items() if given.get(name) is None}
        for name, value in added.items():
            yield f"{visible(name)} was filled in: {_shown(value)}"
        if not added:
            yield "nothing had to be filled in"

    def _canonical(self) -> Iterator[str]:
        yield from list(self._spelled()) or ["every argument is written as it is judged"]
        yield from self._subjects()

    def _spelled(self) -> Iterator[str]:
        before = self._trace.filled or {}
        after = self._decision.arguments or {}
        olds = {pointers.join(steps): value for steps, value in pointers.leaves(before)}
        for steps, value in pointers.leaves(after):
            place = pointers.join(steps)
            if olds.get(place) != value:
                yield f"{visible(place)} is {_shown(value)}"

    def _subjects(self) -> Iterator[str]:
        if isinstance(self._prepared, Prepared):
            for resource in self._prepared.call.resources:
                if resource.at:
                    yield f"{visible(resource.at)}: {resource.role.name} {visible(resource.value)}"
                else:
                    yield "no resource: the call itself is judged"

    def _structure(self) -> Iterator[str]:
        if not isinstance(self._prepared, Prepared):
            return
        minimum = self._prepared.minimum
        for resource in self._prepared.call.resources:
            where = f"{visible(resource.at)} ({resource.role.name})"
            if resource.id in minimum.discharged:
                yield f"{where} lies in the sandbox and needs no rule"
            if resource.id in minimum.escalated:
                rule, reason = minimum.escalated[resource.id]
                yield f"{where} needs at least approval: {rule}: {reason}"
        if not minimum.discharged and not minimum.escalated:
            yield "nothing to add"

    def _asked(self) -> Iterator[str]:
        for resource in self._decision.subjects:
            where = f"{visible(resource.at)} ({resource.role})" if resource.at else "the call"
            yield f"{where}: {resource.verdict} by {visible(resource.rule)}"

    def _merged(self) -> Iterator[str]:
        yield f"{self._decision.verdict} by {visible(self._decision.rule)}"


def _shown(value: JsonValue) -> str:
    return cut(json_text.shown(value))


def _cut(lines: Iterator[str]) -> tuple[str, ...]:
    found = list(lines)
    more = (f"and {len(found) - _SHOWN} more",) if len(found) > _SHOWN else ()
    return (*found[:_SHOWN], *more)
