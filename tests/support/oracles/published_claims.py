"""What evidence claims about policies over published tools, held against calls that were decided without it.

Each call is prepared as at run time and judged by the plain evaluator of the specification (`twin`); the
evidence engine has no part in either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any

import jsonschema

from ironcurtain.analysis.coverage.coverage import coverage
from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.engine.lookup import locate
from ironcurtain.analysis.engine.policy_analysis import (
    PlainAnalysis,
    PolicyAnalysis,
    analyse_policy,
    analyse_with_guarantees,
)
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios as AsScenarios
from ironcurtain.analysis.findings.findings import Material
from ironcurtain.analysis.findings.findings import find as find_findings
from ironcurtain.analysis.findings.report import Finding, FindingReport
from ironcurtain.analysis.guarantees.guarantees import decide_guarantees
from ironcurtain.analysis.matrix.matrix import matrix_of
from ironcurtain.analysis.narrowing.narrowing import narrowing
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.decision.decide import Call, Prepared, finalize, prepare
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.policy_input import PolicyInput, ResourceInput
from ironcurtain.decision.reserved_tools import RESERVED, without_reserved
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.scenarios import Scenario, ScenarioCall
from ironcurtain.model.verdict import Verdict
from support.generators.published import PATHS, ROLES, WORLD
from support.generators.published_policies import Server, bundle_of, guarantees_of, random_policy
from support.oracles import twin
from support.projects.policies import annotations_of

CALLS = 60


@dataclass(frozen=True)
class Decided:
    """A call under one policy.

    Attributes:
        raw: The arguments as they were made.
        prepared: The call after steps 1 to 5.
        verdict: Of the whole call, and
        subjects: of each subject, with its rule.
    """

    server: Server
    tool: str
    raw: dict[str, Any]
    caller: dict[str, Any]
    prepared: Prepared
    verdict: Verdict
    subjects: dict[str, dict[str, str]]

    @property
    def input(self) -> PolicyInput:
        """What the policy is asked."""
        return self.prepared.input

    @property
    def place(self) -> tuple[str, str]:
        """Server and tool."""
        return self.server.name, self.tool


@dataclass
class Batch:
    """Some policies, each with a server of its own, examined in one go, and calls of each.

    Attributes:
        seed: What everything is made from.
        contradicted: What evidence says and a call shows to be wrong.
        counted: How many claims of each kind were made, by what they rest on.
        made: How many calls were made, those included that no policy is asked about.
        one_sided: Calls that only one of the bundles lists the tool of.
    """

    seed: int
    count: int
    opa: OpaCommand
    contradicted: list[str] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    made: int = 0
    one_sided: list[tuple[Decided | None, Decided | None]] = field(default_factory=list)
    _known: set[tuple[str, tuple[str, str]]] = field(default_factory=set)

    @cached_property
    def servers(self) -> list[Server]:
        """The policies."""
        random = Random(self.seed)
        return [random_policy(random, f"s{number}") for number in range(self.count)]

    @cached_property
    def bundles(self) -> tuple[Bundle, Bundle]:
        """All policies, and all of them changed."""
        annotated = without_reserved(annotations_of({s.name: list(s.tools) for s in self.servers}, ROLES))
        old, new = (
            bundle_of(annotated, [rule for each in self.servers for rule in getattr(each, kind)])
            for kind in ("rules", "changed")
        )
        return old, new

    @cached_property
    def calls(self) -> list[tuple[Decided, Decided]]:
        """Random calls that a policy is asked about, decided under each bundle."""
        random = Random(self.seed + 1)
        policies = [load_described(bundle, WORLD) for bundle in self.bundles]
        found = []
        for server in self.servers:
            for _ in range(CALLS):
                made = server.call(random)
                if made is None:
                    continue
                self.made += 1
                old = _decided(server, policies[0], server.rules, *made)
                is_same = server.rules == server.changed
                new = old if is_same else _decided(server, policies[1], server.changed, *made)
                if old is not None and new is not None:
                    found.append((old, new))
                elif old is not None or new is not None:
                    self.one_sided.append((old, new))
        return found

    @cached_property
    def scenarios(self) -> list[Scenario]:
        """The calls as scenarios that demand what is decided."""
        return [
            Scenario(
                id=f"c{number}",
                origin="handwritten",
                call=ScenarioCall(
                    server=c.server.name, tool=c.tool, arguments=c.raw, caller=c.caller or None
                ),
                expect=c.verdict,
            )
            for number, (c, _) in enumerate(self.calls)
        ]

    def run(self) -> Batch:
        """Check every claim."""
        examined = analyse_policy(self.bundles[0], WORLD, self.opa)
        self._enumerated(examined)
        self.check_guarantees()
        self._hidden()
        self._silent(examined)
        self._matrix(examined)
        self._located(examined)
        self._coverage(examined)
        self._difference()
        return self

    def _wrong(self, what: str, call: Decided) -> None:
        """Note a call that shows something wrong, the first one of each tool."""
        if (what, call.place) in self._known:
            return
        self._known.add((what, call.place))
        whole = f"{call.server.name}/{call.tool} {call.raw} as {call.caller}: {call.verdict}"
        self.contradicted.append(f"seed {self.seed}: {what}\n  {whole}")

    def _enumerated(self, examined: PlainAnalysis) -> None:
        """Check that evidence speaks of the tools that enforcement does not deny as unknown."""
        policy = load_described(self.bundles[0], WORLD)
        places = {(s.name, tool) for s in self.servers for tool in (*RESERVED, *(t["tool"] for t in s.tools))}
        for place in places:
            decided = prepare(Call(*place, {}), policy)
            is_unknown = isinstance(decided, Decision) and decided.rule == ReservedRule.UNKNOWN_TOOL
            if is_unknown is (place in examined.tools):
                self.contradicted.append(f"seed {self.seed}: evidence and enforcement disagree about {place}")
        for call, _ in self.calls:
            self.counted[f"call of {call.tool}" if call.tool in RESERVED else "call of a tool"] += 1

    # -- guarantees ---------------------------------------------------------------------------------

    def check_guarantees(self) -> None:
        """Check what is said of guarantees."""
        statements = [each for server in self.servers for each in server.guarantees]
        if not statements:
            return
        examined = analyse_with_guarantees(
            self.bundles[0], WORLD, self.opa, guarantees_of(statements), only_guaranteed=True
        )
        report = decide_guarantees(examined, self.opa)
        for statement, result in zip(statements, report.results, strict=True):
            self.counted[f"guarantee {result.status}"] += 1
            if result.status == "not found":
                self.counted.update(f"unproved: {reason[:70]}" for reason in result.reasons)
            if result.status in ("broken", "not found"):
                continue
            for call, _ in self.calls:
                if call.server.name != statement["when"]["server"][0]:
                    continue
                spoken = list(_spoken(statement, call))
                if result.status == "says nothing" and spoken and not result.reasons:
                    self._wrong(f"{statement} says nothing", call)
                elif result.status == "proved" and not all(_kept(statement, call, id_) for id_ in spoken):
                    self._wrong(f"{statement} is proved", call)

    # -- the other reports --------------------------------------------------------------------------

    def _hidden(self) -> None:
        found = narrowing(self.bundles[0], WORLD, self.opa)
        self.counted.update("tool hidden" if not t.reachable else "tool shown" for t in found.tools)
        for call, _ in self.calls:
            tool = found.find(*call.place)
            assert tool is not None
            if call.verdict is Verdict.DENY:
                continue
            if not tool.reachable:
                self._wrong("the tool is hidden", call)
            elif not jsonschema.Draft202012Validator(tool.input_schema or {}).is_valid(call.raw):
                self._wrong("the narrowed schema refuses the call", call)

    def _silent(self, examined: PlainAnalysis) -> None:
        report = find_findings(examined, Material(languages), self.opa)
        self.counted.update(f"finding {f.kind} {f.proof}" for f in report.findings)
        for call, _ in self.calls:
            for finding in refuted(report, call.verdict, call.subjects):
                self._wrong(finding.message, call)

    def _matrix(self, examined: PlainAnalysis) -> None:
        tables = {
            (server, tool): table
            for server, listed in matrix_of(examined).servers.items()
            for table in listed
            for tool in table.tools
        }
        for table in tables.values():
            self.counted[f"table {table.exactness}"] += 1
            self.counted.update(f"row {row.exactness} of a table {table.exactness}" for row in table.rows)
        for call, _ in self.calls:
            table = tables[call.place]
            for id_, found in call.subjects.items():
                role = call.input["subjects"][id_]["role"]
                if call.input["subjects"][id_]["discharged"] and found["rule"].startswith("structural-"):
                    continue
                rows = [row for row in table.rows if role in row.roles]
                if any(row.exactness != "exact" for row in rows):
                    continue
                if not rows and table.exactness != "exact":
                    continue
                outcomes = {o.verdict for row in rows for o in row.outcomes}
                if Verdict(found["verdict"]) not in outcomes:
                    self._wrong(f"the matrix knows no {found['verdict']} of {role}", call)

    def _located(self, examined: PolicyAnalysis) -> None:
        """Check that each call stands where the picture of its tool has it."""
        for call, _ in self.calls:
            one = examined.tools[call.place]
            if one.gaps:
                continue
            try:
                found = {each.resource: each.answered.outcomes[0] for each in locate(one, call.prepared)}
            except LookupError as error:
                self._wrong(f"the tool is exact, and {error}", call)
                continue
            rules = {id_: outcome.rule for id_, outcome in found.items() if outcome is not None}
            if rules != {id_: each["rule"] for id_, each in call.subjects.items()}:
                self._wrong(f"the tool is exact, and decided by {rules}", call)

    def _coverage(self, examined: PolicyAnalysis) -> None:
        decided = self._by_opa(examined)
        report = coverage(examined, self.scenarios, self.opa, decided)
        for (call, _), decision in zip(self.calls, decided.decisions.values(), strict=True):
            if decision.verdict is not call.verdict:
                self._wrong(f"OPA decides {decision.verdict}", call)
        deciding = {
            found["rule"]
            for call, _ in self.calls
            for found in call.subjects.values()
            if found["rule"] in examined.content.rules
        }
        self.counted["coverage"] += 1
        missed = {name for clause in report.clauses for name in clause.missed}
        if wrong := missed & deciding:
            self.contradicted.append(f"seed {self.seed}: coverage misses {wrong}, which decide")
        if report.rules.reached != len(deciding):
            self.contradicted.append(
                f"seed {self.seed}: coverage counts {report.rules.reached} rules, and {len(deciding)} decide"
            )

    def _by_opa(self, examined: PolicyAnalysis) -> AsScenarios:
        prepared = {
            each.id: call.prepared for each, (call, _) in zip(self.scenarios, self.calls, strict=True)
        }
        policy = load_described(examined.bundle, WORLD)
        decisions = decide_prepared(prepared, examined.bundle, policy, self.opa)
        return AsScenarios(tuple(self.scenarios), prepared, decisions)

    def _difference(self) -> None:
        found = difference(*self.bundles, WORLD, self.opa)
        sampled = {reason.partition(":")[0] for reason in found.reasons}
        self.counted["tool compared, sampled"] += len(sampled)
        self.counted["tool compared"] += sum(len(server.tools) for server in self.servers)
        by_tool: dict[str, set[str]] = {}
        for change in found.changes:
            for tool in change.tools:
                shown = {change.direction} if change.witness is not None or change.note else set()
                by_tool.setdefault(tool, set()).update(shown)
        self.counted["tool unchanged"] += sum(
            f"{s.name}/{t['tool']}" not in by_tool for s in self.servers for t in s.tools
        )
        for one in self.one_sided:
            is_new = one[0] is None
            call = next(each for each in one if each is not None)
            name = f"{call.server.name}/{call.tool}"
            direction = "loosened" if is_new else "tightened"
            if call.verdict is not Verdict.DENY and direction not in by_tool.get(name, set()):
                self._wrong(f"the difference knows nothing {direction}; only one side lists the tool", call)
        for old, new in self.calls:
            if old.verdict is new.verdict:
                continue
            direction = "loosened" if new.verdict.severity < old.verdict.severity else "tightened"
            name = f"{old.server.name}/{old.tool}"
            if name not in sampled and direction not in by_tool.get(name, set()):
                self._wrong(f"the difference knows nothing {direction}; it is {new.verdict} now", old)


def _decided(
    server: Server,
    policy: LoadedPolicy,
    rules: tuple[dict[str, Any], ...],
    tool: str,
    arguments: dict[str, Any],
    caller: dict[str, Any],
) -> Decided | None:
    prepared = prepare(Call(server.name, tool, arguments, caller), policy)
    if not isinstance(prepared, Prepared):
        return None
    said = twin.decide(list(rules), prepared.input)
    whole = finalize(prepared, said | {"clause": None, "reason": "as said"}, policy)
    return Decided(server, tool, arguments, caller, prepared, whole.verdict, said["subjects"])


def refuted(report: FindingReport, verdict: str, subjects: Mapping[str, Mapping[str, str]]) -> list[Finding]:
    """Return the proved findings about rules that never decide which a call shows to be wrong.

    Args:
        report: The findings.
        verdict: Of the whole call.
        subjects: Verdict and rule of each of its subjects.
    """
    deciding = {found["rule"] for found in subjects.values()}
    giving = {found["rule"] for found in subjects.values() if found["verdict"] == verdict}
    return [
        finding
        for finding in report.findings
        if finding.kind in ("dead-rule", "shadowed-rule") and finding.proof == "proved"
        # Some rules decide about what a call holds, and their verdict is never that of the call.
        if finding.where.removeprefix("rule ")
        in (giving if "never gives a verdict" in finding.message else deciding)
    ]


def _spoken(statement: dict[str, Any], call: Decided) -> Iterator[str]:
    """Yield the subjects of a call that a guarantee speaks of; with no word about subjects, all of them."""
    scope, then = statement["when"], statement.get("always", "deny")
    if call.tool not in scope.get("tool", [call.tool]):
        return
    tests = [("args", test) for test in scope.get("args", ())]
    tests += [("caller", test) for test in scope.get("caller", ())]
    if not all(twin.holds(test, root, call.input, then) for root, test in tests):
        return
    for id_, subject in call.input["subjects"].items():
        if subject["role"] not in scope.get("roles", [subject["role"]]):
            continue
        inside = [_is_covered(subject, each) for each in scope.get("within", ())]
        outside = [_is_covered(subject, each) for each in scope.get("outside", ())]
        if (not inside or any(inside)) and not any(outside):
            yield id_


def _kept(statement: dict[str, Any], call: Decided, id_: str) -> bool:
    """Tell whether a call keeps a guarantee that speaks of one of its subjects."""
    if "never" in statement:
        return call.verdict.severity > Verdict(statement["never"]).severity
    if "roles" in statement["when"]:
        return bool(call.subjects[id_]["verdict"] == statement["always"])
    return bool(call.verdict == statement["always"])


def _is_covered(subject: ResourceInput, pattern: str) -> bool:
    value = subject["value"]
    if subject["role"] not in PATHS:
        if pattern.startswith("*@"):
            return bool(value.endswith(pattern[1:]))
        above, _, last = pattern.rpartition("/")
        return bool(value.startswith(f"{above}/")) if last.strip("*") == "" and above else value == pattern
    home = str(WORLD.home)
    whole = str(WORLD.sandbox) if pattern == "sandbox" else pattern.replace("~", home)
    return bool(whole == "/" or value == whole or value.startswith(f"{whole}/"))
