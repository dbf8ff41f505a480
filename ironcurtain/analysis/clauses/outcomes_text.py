"""What becomes of each clause, in one line of text, the same in every report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.analysis.clauses.report import AskedTool, ClauseCell, ClauseOutcome, ClauseReport
from ironcurtain.analysis.engine.proof import Exactness, Proof
from ironcurtain.decision.roles import NONE
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import printable, visible

_SHOWN = 3


def report_lines(report: ClauseReport) -> Iterator[str]:
    """Yield a line for each clause: its id, where it stands, its outcome, its words."""
    for outcome in report.clauses:
        yield outcome_line(outcome)
        yield f'    "{printable(outcome.clause.text)}"'


def outcome_line(outcome: ClauseOutcome) -> str:
    """Return a clause's id, place and outcome."""
    clause = outcome.clause
    place = f"{visible(clause.file)}:{clause.line}: " if clause.line else ""
    return f"{place}{visible(clause.id)} {outcome_words(outcome)}"


def outcome_words(outcome: ClauseOutcome) -> str:
    """Return what becomes of a clause, in words that follow its id."""
    return "; ".join([_first(outcome), *_more(outcome)])


def _first(outcome: ClauseOutcome) -> str:
    if outcome.outcome == "enforced":
        return f"is enforced by {_listed(outcome.rules)}"
    if outcome.outcome == "merged":
        return f"is said to be kept by the rules of {_listed(outcome.into)}"
    if outcome.outcome == "structural" and outcome.structural:
        return f"holds by structure in its scenarios ({', '.join(outcome.structural)})"
    if outcome.outcome == "not-kept" and not _reasons(outcome):
        known = "has rules, and no call was found that they decide"
        return known if outcome.unproved else "has rules that decide no call"
    if outcome.outcome == "not-kept" and all(claim.kind == "not-here" for claim in outcome.claims):
        return "concerns no tool that is here"
    return _WORDS[outcome.outcome]


_WORDS: Mapping[str, str] = {
    "structural": "is said to hold by structure, which no scenario shows",
    "asked": "is not enforceable on arguments, and what it is claimed for is asked about or denied",
    "partly-asked": "is not enforceable on arguments, and asked about in part",
    "not-kept": "is not enforceable, and nothing is asked because of it",
    "principle": "is a principle, which no rule needs to implement",
    "unaccounted": "has no rule, and nobody says why",
}


def _more(outcome: ClauseOutcome) -> Iterator[str]:
    yield from _idle_words(outcome)
    yield from (asked_words(asked) for asked in outcome.asked)
    yield from (f"reason given: {reason}" for reason in dict.fromkeys(_reasons(outcome)))


def _idle_words(outcome: ClauseOutcome) -> Iterator[str]:
    """Yield what is known of the rules of which no call was found whose verdict they give."""
    proved = tuple(name for name in outcome.idle if name not in outcome.unproved)
    if proved:
        yield f"{_listed(proved)} never decides"
    for exactness, words in _UNPROVED.items():
        names = tuple(name for name in outcome.idle if outcome.unproved.get(name) == exactness)
        if names:
            yield words.format(_listed(names))


_NO_CALL = "no call was found that {} decides (not proved)"
_UNPROVED: Mapping[Exactness, str] = {
    "exact": _NO_CALL,
    "sampled": _NO_CALL,
    "not examined": "whether {} decides a call is not known: of a tool that it concerns, none could be made",
}


def _reasons(outcome: ClauseOutcome) -> list[str]:
    """Return the reasons; where the clause has rules, a server that it does not concern tells nothing new."""
    ruled = bool(outcome.rules or outcome.idle)
    return [visible(claim.reason) for claim in outcome.claims if not (ruled and claim.kind == "not-here")]


def asked_words(asked: AskedTool) -> str:
    """Return what holds of a tool that is said to be asked about."""
    tool = f"{visible(asked.server)}/{visible(asked.tool)}"
    seen = ", as far as was looked" if asked.proof is Proof.NOT_FOUND else ""
    if asked.holds == "always" and asked.proof is Proof.NOT_FOUND:
        return f"no call of {tool} was found that is allowed (not proved)"
    if asked.holds == "always":
        verdicts = " or ".join(_VERDICTS[verdict.value] for verdict in asked.verdicts)
        return f"every call of {tool} is {verdicts}"
    if asked.holds == "not examined":
        return f"{tool} is not examined, since no call of it could be made"
    if asked.holds == "partly":
        return " and ".join(_partly_words(asked, tool)) + seen
    return f"{tool} is not asked about{seen}"


_VERDICTS = {"escalate": "asked about", "deny": "denied"}
_DOES = {Verdict.ESCALATE: "a person is asked about", Verdict.DENY: "its rules deny"}


def _partly_words(asked: AskedTool, tool: str) -> Iterator[str]:
    """Yield where a person is asked to check the clause, and where its own rules deny."""
    for verdict, does in _DOES.items():
        places = list(dict.fromkeys(_cell_words(cell) for cell in asked.cells if cell.verdict is verdict))
        if places:
            left = len(places) - _SHOWN
            cases = "another case" if left == 1 else f"{left} other cases"
            more = f" or in {cases}" if left > 0 else ""
            yield f"{does} {tool} {' or '.join(places[:_SHOWN])}{more}"


def _cell_words(cell: ClauseCell) -> str:
    roles = tuple(role for role in cell.roles if role != NONE)
    places = [f"{_listed(roles)} is in {_listed(cell.where)}"] if roles and cell.where else []
    tests = [*places, *map(printable, cell.when)]
    return f"where {' and '.join(tests)}" if tests else "always"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(visible(name) for name in names)
