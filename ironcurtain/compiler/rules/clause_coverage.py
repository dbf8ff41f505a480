"""Whether every clause has a rule or a reason why it has none.

A clause that cannot be enforced on arguments may still have rules that ask a person: the answer names
their tools. What it claims goes into the bundle, where evidence checks it over all calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import get_args

from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.questions.schema_parts import entries, read_answer
from ironcurtain.model.annotations import ServerAnnotations
from ironcurtain.model.policy import Claim, ClaimKind, Clause, Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import quoted, visible

KINDS: tuple[str, ...] = get_args(ClaimKind)
_ENFORCED_ELSEWHERE = {"structural", "not-here"}
_NOWHERE = "it concerns no server"


class UnenforcedClause(Frozen):
    """What an answer says of a clause that no rule keeps.

    Attributes:
        tools: Tools that people are asked about instead.
        into: For the kind `merged`: the clauses whose rules keep it.
    """

    clause: str
    reason: str
    kind: ClaimKind = "other"
    tools: tuple[str, ...] = ()
    into: tuple[str, ...] = ()


def unenforced(content: JsonValue) -> list[UnenforcedClause]:
    """Return what an answer of the rules stage says of the clauses that no rule keeps."""
    return [read_answer(UnenforcedClause, entry) for entry in entries(content, "not_enforceable")]


def coverage_mistakes(
    content: JsonValue, rules: Sequence[Rule], clauses: Iterable[PlacedClause], annotated: ServerAnnotations
) -> list[str]:
    """Return what is wrong with how the answer for one server accounts for its clauses.

    Args:
        content: The answer; its `not_enforceable` holds the reasons.
        rules: The answer's rules.
        clauses: The clauses that this server was given.
        annotated: The server's tools.
    """
    reasons = unenforced(content)
    counts = Counter(entry.clause for entry in reasons)
    mistakes = [f"clause {clause} is given {count} reasons" for clause, count in counts.items() if count > 1]
    implemented = {rule.clause for rule in rules}
    mistakes += [
        f"clause {placed.clause.id} has no rule and no reason: implement it, or say under `not_enforceable` "
        "why no rule does"
        for placed in clauses
        if not placed.clause.principle and placed.clause.id not in implemented | set(counts)
    ]
    ids = {placed.clause.id for placed in clauses}
    for entry in reasons:
        mistakes += _entry_mistakes(entry, rules, annotated)
        mistakes += _merge_mistakes(entry, implemented, ids)
    return mistakes


def claims(contents: Mapping[str, JsonValue], nowhere: Iterable[str]) -> tuple[Claim, ...]:
    """Return what answers say of the clauses that no rule keeps, to be checked over all calls.

    Args:
        contents: The contents of the answers, by server.
        nowhere: Ids of the clauses that concern no server.
    """
    said = [_claim(server, entry) for server, content in contents.items() for entry in unenforced(content)]
    return (
        *said,
        *(Claim(clause=clause, kind="not-here", reason=_NOWHERE) for clause in nowhere),
    )


def quote_mistake(quote: str, clause: Clause | None) -> str:
    """Return what is wrong with words that a clause is said to hold; empty if it holds them."""
    wanted, text = _plain(quote), _plain(clause.text if clause else "")
    return "" if wanted and wanted in text else f"`clause_says` {quoted(quote)} does not stand in the clause"


def _entry_mistakes(
    entry: UnenforcedClause, rules: Sequence[Rule], annotated: ServerAnnotations
) -> Iterator[str]:
    clause, kind = entry.clause, entry.kind
    if not entry.reason.strip():
        yield f"clause {clause}: the reason is empty"
    if kind in _ENFORCED_ELSEWHERE:
        if kind == "not-here" and any(rule.clause == clause for rule in rules):
            yield f"clause {clause} is said not to concern this server, and has a rule"
        return
    asked = _asked_tools(clause, rules, annotated)
    for tool in dict.fromkeys(entry.tools):
        if tool not in asked:
            yield (
                f"clause {clause}: `tools` names {quoted(tool)}, which a rule allows, and no rule asks "
                "about it: leave it out, or add a rule where the constitution wants a person to be asked"
            )


def _asked_tools(clause: str, rules: Sequence[Rule], annotated: ServerAnnotations) -> set[str]:
    """Return the tools that a rule escalates or one of the clause denies, and those that no rule allows.

    Whoever is asked about a call, because of whatever clause, is told to check this one.
    """
    every = tuple(tool.tool for tool in annotated.tools)

    def named(some: Iterable[Rule]) -> set[str]:
        return {tool for rule in some for tool in rule.if_.tool or every}

    allowed = named(rule for rule in rules if rule.then is Verdict.ALLOW)
    asking = named(rule for rule in rules if rule.then is Verdict.ESCALATE)
    own = named(rule for rule in rules if rule.clause == clause and rule.then is Verdict.DENY)
    return asking | own | (set(every) - allowed)


def _merge_mistakes(
    entry: UnenforcedClause, implemented: Collection[str], ids: Collection[str]
) -> Iterator[str]:
    clause, into = entry.clause, entry.into
    if entry.kind != "merged":
        if into:
            yield f"clause {clause}: `into` goes with the kind merged only"
        return
    if not into:
        yield f"clause {clause} is merged: name in `into` the clauses whose rules keep it"
    for other in dict.fromkeys(into):
        if other == clause or other not in ids or other not in implemented:
            yield f"clause {clause} is merged into {other}, which has no rule"


def _claim(server: str, entry: UnenforcedClause) -> Claim:
    tools = () if entry.kind == "not-here" else tuple(dict.fromkeys(entry.tools))
    return Claim(
        clause=entry.clause,
        server=server,
        kind=entry.kind,
        tools=tools,
        into=tuple(dict.fromkeys(entry.into)),
        reason=visible(entry.reason),
    )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
