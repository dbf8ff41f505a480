"""What a policy leaves open by mistake: permissions without a limit, and languages that no value shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.diagram import DiagramPath
from ironcurtain.analysis.engine.rules.rules import RuleOfTool
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.findings.draft import FindingContext, FindingDraft, WitnessQuery, answers_of
from ironcurtain.analysis.findings.limits import is_limited
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import quoted, visible

_ALLOWED = Verdict.ALLOW.severity


def open_drafts(
    looked: FindingContext, languages: Callable[[ToolAnnotation], Mapping[str, str]]
) -> Iterator[FindingDraft]:
    """Yield what a policy leaves open.

    Args:
        looked: The policy.
        languages: Returns the language of each argument of a tool that holds one.
    """
    for name, rule in looked.rules:
        concerned = looked.concerned(rule.order)
        if rule.then is Verdict.ALLOW:
            yield from _unlimited(looked, name, concerned)
    for one in looked.tools:
        yield from _languages(looked, one, languages(one.space.annotation))


# -- allow rules without a limit ------------------------------------------------------------------


def _unlimited(
    looked: FindingContext, name: str, concerned: list[tuple[Examined, RuleOfTool]]
) -> Iterator[FindingDraft]:
    tools: dict[str, WitnessQuery | None] = {}
    for one, rule in concerned:
        if rule.named_roles or is_limited(rule.condition):
            return
        reaching = _reaching(one.space.annotation, looked.examined.sides.registry)
        for cell, _, answered in answers_of(one):
            if cell.role in reaching and answered.path.outcome[0] == rule.order:
                key = f"{one.space.tool} ({cell.role})"
                tools[key] = tools.get(key) or _allowed(looked, one, cell, answered.path)
    if tools:
        yield looked.of_rule(
            name,
            "open-allow",
            "error",
            message=f"the rule {visible(name)} allows whatever it is about, without a limit: "
            f"{', '.join(visible(key) for key in sorted(tools))}",
            suggestion="Say where or to whom: add paths, domains, lists or roles to its conditions.",
            witness=next((found for found in tools.values() if found is not None), None),
        )


def _reaching(tool: ToolAnnotation, registry: Registry) -> frozenset[str]:
    """Return the roles by which a tool writes, deletes, sends or contacts another computer."""
    return frozenset(
        role.name
        for role in registry.resources
        if role.writes or role.category == "url" or (role.category == "identifier" and tool.side_effects)
    )


def _allowed(
    looked: FindingContext, one: Examined, cell: EquivalenceClass, path: DiagramPath
) -> WitnessQuery | None:
    """Return a call on a path that is allowed as a whole, or else one whose subject is."""
    return looked.allowed(one, cell, path) or looked.sought(
        one, cell, lambda subject, _: subject[0] == _ALLOWED, path
    )


# -- languages ------------------------------------------------------------------------------------


def _languages(looked: FindingContext, one: Examined, found: Mapping[str, str]) -> Iterator[FindingDraft]:
    if not found:
        return
    tries = (
        (None, cell, answered.path)
        for cell, _, answered in answers_of(one)
        if answered.outcomes[0] is not None and answered.outcomes[0].verdict is Verdict.ALLOW
    )
    allowed = looked.first_allowed(one, tries)
    witness = allowed[1] if allowed is not None else None
    tool = f"{visible(one.space.server)}/{visible(one.space.tool)}"
    for argument, language in sorted(found.items()):
        yield FindingDraft(
            kind="language-argument",
            severity="warning" if witness is not None else "note",
            about=[one.space.server, one.space.tool, argument, language],
            where=tool,
            message=f"the argument {quoted(argument)} of {tool} holds {language}, so its value does not show "
            "what a call does" + (", and calls of the tool are allowed" if witness is not None else ""),
            suggestion="Let the tool be escalated or denied as a whole, or offer tools that do one thing.",
            sampled=bool(one.gaps),
            witness=witness,
        )
