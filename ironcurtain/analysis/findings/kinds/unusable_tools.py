"""Tools that no call can use or of which none could be made, and tools whose arguments hold a language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.proof import NOT_EXAMINED
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft, answers_of
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import quoted, visible

REMEDY = "Ask whoever wrote the server for a schema without that, or leave the tool out."


def unusable_tools(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield the tools whose schema cannot be evaluated, so that every call of them is denied."""
    analysis = inputs.context.analysis
    policy = analysis.policies[0].policy
    for server, name in analysis.tools:
        validated = policy.tool(server, name)
        if validated is not None and validated.unusable is not None:
            tool = f"{visible(server)}/{visible(name)}"
            yield FindingDraft(
                kind="unusable-tool",
                severity="note",
                about=[server, name],
                where=tool,
                message=f"every call of {tool} is denied, since its schema cannot be evaluated: "
                f"{validated.unusable}",
                suggestion=REMEDY,
            )


def unexamined_tools(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield the tools of which no call could be made, so that evidence knows nothing of them."""
    for examined in inputs.context.tools:
        server, name = examined.space.server, examined.space.tool
        for gap in sorted(gap for gap in examined.gaps if gap.startswith(NOT_EXAMINED)):
            yield FindingDraft(
                kind="unexamined-tool",
                severity="warning",
                about=[server, name],
                where=f"{visible(server)}/{visible(name)}",
                message=f"nothing is known of a tool: {gap.removeprefix(NOT_EXAMINED)}",
                suggestion="Correct the annotation of what is named, so that a value fits it and the schema, "
                "or leave the tool out.",
                unexamined=True,
            )


def language_arguments(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield, tool by tool, the arguments that hold a language."""
    for examined in inputs.context.tools:
        yield from _languages(inputs.context, examined, inputs.languages(examined.space.annotation))


def _languages(
    context: FindingContext, examined: Examined, languages: Mapping[str, str]
) -> Iterator[FindingDraft]:
    if not languages:
        return
    tries = (
        (None, cell, answered.path)
        for cell, _, answered in answers_of(examined)
        if answered.outcomes[0] is not None and answered.outcomes[0].verdict is Verdict.ALLOW
    )
    allowed = context.first_allowed_call(examined, tries)
    witness = allowed[1] if allowed is not None else None
    tool = f"{visible(examined.space.server)}/{visible(examined.space.tool)}"
    for argument, language in sorted(languages.items()):
        yield FindingDraft(
            kind="language-argument",
            severity="warning" if witness is not None else "note",
            about=[examined.space.server, examined.space.tool, argument, language],
            where=tool,
            message=f"the argument {quoted(argument)} of {tool} holds {language}, so its value does not show "
            "what a call does" + (", and calls of the tool are allowed" if witness is not None else ""),
            suggestion="Let the tool be escalated or denied as a whole, or offer tools that do one thing.",
            sampled=bool(examined.gaps),
            witness=witness,
        )
