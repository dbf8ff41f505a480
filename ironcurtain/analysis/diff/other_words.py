"""What two policies say in other words: sentences of the constitution, and what is told of a rule.

No verdict follows from any of these, so nothing is loosened or tightened by them; people who are asked or
refused read them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.diff.report import OtherWords
from ironcurtain.bundle.content import PolicyContent, RuleText


def other_words(old: PolicyContent, new: PolicyContent) -> tuple[OtherWords, ...]:
    """Return the sentences that are not in both policies alike, and the rules that both tell of otherwise.

    Args:
        old: What one policy holds.
        new: What the other one holds.
    """
    return (*_clauses(old, new), *_rules(old, new))


def _clauses(old: PolicyContent, new: PolicyContent) -> Iterator[OtherWords]:
    for id_ in sorted(old.clauses.keys() | new.clauses.keys()):
        before, now = old.clauses.get(id_), new.clauses.get(id_)
        if before != now:
            yield OtherWords(of="clause", name=id_, old=before, new=now)


def _rules(old: PolicyContent, new: PolicyContent) -> Iterator[OtherWords]:
    for name in sorted(old.rules.keys() & new.rules.keys()):
        before, now = (_told(content.rules[name]) for content in (old, new))
        if before != now:
            yield OtherWords(of="rule", name=name, old=before, new=now)


def _told(rule: RuleText) -> str:
    return f"{rule.clause}: {rule.reason}"
