"""Arguments that hold a program or a query, whose effects no value shows (`language-argument`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.findings.context import FindingContext, answers_of
from ironcurtain.analysis.findings.draft import FindingDraft
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import quoted, visible


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
