"""Deciding guarantees about sequences: each is proved over all sessions, broken by one, or neither.

    decide_sequences(analysis, opa)

`never` with `after` walks the sets of labels that a session can come to (`sessions.py`); `at_most` asks
whether any call is allowed above the number (`totals.py`). What breaks one is a whole session, held against
the fold of its memory and OPA (`confirmed.py`).
"""

from __future__ import annotations

from datetime import timedelta

from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis
from ironcurtain.analysis.engine.sequence_scope import ReadSequence
from ironcurtain.analysis.engine.space.call_space import CUSTOM_MODULES
from ironcurtain.analysis.guarantees.confirmed import OTHERWISE, confirmed
from ironcurtain.analysis.guarantees.guarantees import status_of
from ironcurtain.analysis.guarantees.kinds import CallKinds
from ironcurtain.analysis.guarantees.sessions import walk
from ironcurtain.analysis.guarantees.totals import UNREACHED, above
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.guarantees import GuaranteeResult, WitnessCall
from ironcurtain.model.verdict import Verdict


def decide_sequences(analysis: PolicyAnalysis, opa: OpaCommand) -> list[GuaranteeResult]:
    """Decide the guarantees about sequences that an examination was made with.

    Raises:
        EngineFailedError: If OPA does not run.
    """
    return [
        _after(each, analysis, opa) if each.after is not None else _at_most(each, analysis, opa)
        for each in analysis.sequences
    ]


def _after(read: ReadSequence, analysis: PolicyAnalysis, opa: OpaCommand) -> GuaranteeResult:
    kinds = CallKinds(analysis)
    spoken_of = kinds.cells(read.allow)
    cells = spoken_of if read.after is not None and kinds.cells(read.after) else 0
    walked = walk(read, analysis)
    if walked.path is None:
        return _result(read, cells, (), walked.gaps)
    calls = confirmed(walked.path, analysis, opa)
    return _result(read, cells, calls, set() if calls else {*walked.gaps, OTHERWISE})


def _at_most(read: ReadSequence, analysis: PolicyAnalysis, opa: OpaCommand) -> GuaranteeResult:
    kinds = CallKinds(analysis)
    gaps = set(read.gaps)
    is_allowed = False
    for tool in read.allow.read.tools:
        searched = kinds.open_to(tool, [read.allow], Verdict.ALLOW)
        is_allowed = is_allowed or searched.call is not None
        gaps |= searched.gaps
    gaps -= {CUSTOM_MODULES}  # they only ever tighten
    cells = kinds.cells(read.allow)
    if read.gaps or not is_allowed:
        return _result(read, cells, (), gaps)
    path = above(read, analysis, opa)
    calls = confirmed(path, analysis, opa, apart=timedelta()) if path else ()
    return _result(read, cells, calls, set() if calls else {*gaps, UNREACHED})


def _result(
    read: ReadSequence, cells: int, calls: tuple[WitnessCall, ...], gaps: set[str]
) -> GuaranteeResult:
    guarantee = read.guarantee
    return GuaranteeResult(
        id=guarantee.id,
        clause=guarantee.clause,
        demand=guarantee.words,
        status=status_of(bool(calls), gaps, cells),
        reasons=tuple(sorted(gaps)),
        cells=cells,
        witness=calls[-1] if calls else None,
        sequence=calls,
    )
