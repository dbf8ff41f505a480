"""Named lists that nothing uses, or that have no members (`unused-list`, `empty-list`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironcurtain.analysis.findings.context import FindingDraft
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.bundle.content import RuleText
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import visible


def idle_lists(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield lists that nothing uses, and lists that have no members."""
    context = inputs.context
    content = context.analysis.content
    modules = "\n".join(context.custom_modules)
    for name, (kind, members) in sorted(content.lists.items()):
        token = f"@{name}"
        users = [
            (rule, text)
            for rule, text in context.rules
            if text.if_ is not None
            and any(token in condition.patterns for condition in text.if_.role_conditions)
        ]
        if not users and token not in modules:
            yield FindingDraft(
                kind="unused-list",
                severity="warning",
                about=[name, kind],
                where=f"list {token}",
                message=f"no rule uses the list {token}",
                suggestion="Delete it from the lists, or name it in a rule.",
            )
        elif users and not members:
            yield _empty(token, kind, users)


def _empty(token: str, kind: str, users: Sequence[tuple[str, RuleText]]) -> FindingDraft:
    strict = [name for name, text in users if text.then is not Verdict.ALLOW]
    shown = ", ".join(visible(name) for name, _ in users)
    return FindingDraft(
        kind="empty-list",
        # A rule that asks or denies no longer does; one that allows merely allows nothing.
        severity="error" if strict else "warning",
        about=[token, kind],
        where=f"list {token}",
        message=f"the list {token} has no members, so these rules never hold: {shown}",
        suggestion="Resolve the list or add members, or delete the rules.",
    )
