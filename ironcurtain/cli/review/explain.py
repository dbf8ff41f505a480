"""`ironcurtain explain`: why a call is decided as it is, what comes close, and what a clause causes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import CALL, bundle_argument
from ironcurtain.cli.options.options import MARKDOWN_FORMAT, PolicyOptions, policy_options
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, UsageError

if TYPE_CHECKING:
    from ironcurtain.analysis.clauses.report import ClauseReport
    from ironcurtain.analysis.explain.explain import Explainer
    from ironcurtain.analysis.explain.report import Explanation, Reproduction
    from ironcurtain.cli.options.stated_facts import StatedFacts
    from ironcurtain.decision.agent_view import AgentState
    from ironcurtain.decision.decide import Call
    from ironcurtain.decision.loaded_policy import LoadedPolicy
    from ironcurtain.enforcement.audit.record_types import DecisionRecord
    from ironcurtain.model.decision import Decision
    from ironcurtain.policy import Policy
    from ironcurtain.system.frozen import Frozen

_NO_ID = "not recorded"
ALL = "all"
"""What `--clause` names every clause by; no clause has this id."""


@click.command()
@bundle_argument(*CALL, shown="[SERVER TOOL ARGUMENTS]", needed="none")
@policy_options
@click.option("--caller", metavar="JSON", help="Facts about the principal, as a JSON object.")
@click.option("--facts", metavar="JSON", help="Values of the facts that the policy declares, by name.")
@click.option("--at", metavar="TIME", help="When the call is decided, for facts: 2026-03-02T09:00:00Z.")
@click.option(
    "--record",
    metavar="LOG",
    help="Explain a decision of an audit log, with the bundle it names: a file, or the name of a session.",
)
@click.option(
    "--id",
    "id_",
    metavar="ID",
    help="The decision's id, or how it begins (default: the last one of --record). Without --record it is "
    "looked for in all logs in ~/.ironcurtain/audit.",
)
@click.option("--today", metavar="B", help="With a record: say whether this bundle decides it otherwise.")
@click.option(
    "--clause",
    metavar="ID",
    help="Print all that a clause of the constitution causes, or, with `all`, what becomes of each.",
)
@click.option(
    "--scenarios",
    metavar="FILE",
    help="With --clause: the scenarios (default: test-scenarios.json beside the bundle).",
)
@click.option(
    "--view",
    type=click.Choice(["operator", "agent"]),
    default="operator",
    show_default=True,
    help="For whom: an agent is told no rule, no policy text and no protected place.",
)
@MARKDOWN_FORMAT
def command(
    *,
    server: str | None,
    tool: str | None,
    arguments: str | None,
    bundle: str | None,
    record: str | None,
    id_: str | None,
    today: str | None,
    clause: str | None,
    scenarios: str | None,
    caller: str | None,
    facts: str | None,
    at: str | None,
    view: str,
    format_: str,
    **deployment: Unpack[PolicyOptions],
) -> Exit:
    """Explain the decision of a call, of a recorded call (--id), or all effects of a clause (--clause).

    Similar calls are shown only after they were decided. Without --sandbox, a record is decided again in the
    workspace that it names.

    \b
    Example:
      ironcurtain explain --sandbox work \\
        filesystem write_file '{"path": "~/Documents/a", "content": ""}'
      ironcurtain explain --id 4f2c1b

    \b
    Exit: 0 explained; 1 of a record, it is decided differently than
    recorded, by its own bundle or by the one of --today; 2 wrong
    options or files, or a record that cannot be decided again;
    3 another revision than the record's, or no answer from the engine.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.bundle_argument import caller_facts
    from ironcurtain.cli.options.stated_facts import stated_facts
    from ironcurtain.cli.review.policy_argument import bundle_or_project
    from ironcurtain.decision.decide import Call

    is_recorded = record is not None or id_ is not None
    if [server is not None, is_recorded, clause is not None].count(True) != 1:
        raise UsageError("give SERVER, TOOL and ARGUMENTS, or --id ID or --record LOG, or --clause ID")
    if today is not None and not is_recorded:
        raise UsageError("--today belongs to --id or --record")
    if scenarios is not None and clause is None:
        raise UsageError("--scenarios belongs to --clause")
    path = bundle_or_project(bundle)
    if is_recorded:
        if caller is not None:
            raise UsageError("a record takes no --caller", hint="It says who the agent acted for.")
        if facts is not None or at is not None:
            raise UsageError("a record takes no --facts and no --at", hint="It holds the facts and the time.")
        decision = _find(record, id_)
        return _record(decision, bundle=path, today=today, view=view, format_=format_, deployment=deployment)
    if clause is not None:
        return _clause(clause, path, scenarios, deployment, view=view, format_=format_)
    if server is None or tool is None or arguments is None:
        raise UsageError("give SERVER, TOOL and ARGUMENTS")
    call, stated = Call(server, tool, arguments, caller_facts(caller)), stated_facts(facts, at)
    return _call(call, stated, path, deployment, view=view, format_=format_)


def _call(
    call: Call, stated: StatedFacts, bundle: str, deployment: PolicyOptions, *, view: str, format_: str
) -> Exit:
    from ironcurtain.policy import Policy

    with Policy.load(bundle, **deployment) as policy:
        _say_untrusted(policy)
        if note := stated.missing(call, policy):
            click.echo(note, err=True)
        call = stated.in_call(call, policy)
        if view == "agent":
            _show_agent(policy.decide_many([call])[0], _NO_ID, None, policy.loaded, format_)
        else:
            _show(_explainer(policy).explain(call), format_)
    return Exit.YES


def _explainer(policy: Policy) -> Explainer:
    from ironcurtain.analysis.explain.explain import Explainer

    return Explainer(policy.bundle, policy.loaded, policy.decide_traced)


def _say_untrusted(policy: Policy) -> None:
    if not policy.trusted:
        click.echo(f"note: the bundle is {policy.signature}; see --verify-key", err=True)


def _record(
    record: DecisionRecord,
    *,
    bundle: str,
    today: str | None,
    view: str,
    format_: str,
    deployment: PolicyOptions,
) -> Exit:
    from ironcurtain.analysis.explain.record import explain_recorded, recorded_call
    from ironcurtain.policy import Policy

    if deployment["sandbox"] is None:
        deployment["sandbox"] = record.sandbox.directory
    load = partial(Policy.load, bundle, **deployment)
    explanation, loaded = explain_recorded(record, load, bundle)
    if today is not None:
        decided = _today(record, recorded_call(record), today, deployment)
        explanation = explanation.model_copy(update={"today": decided})
    if view == "agent":
        _show_agent(explanation.decision, record.id, record, loaded, format_)
    else:
        _show(explanation, format_)
    decisions = [each for each in (explanation.reproduction, explanation.today) if each is not None]
    return Exit.YES if all(each.same for each in decisions) else Exit.NO


def _today(record: DecisionRecord, call: Call, bundle: str, deployment: PolicyOptions) -> Reproduction:
    from ironcurtain.analysis.explain.record import check_known, reproduction
    from ironcurtain.policy import Policy

    deployment["expect_revision"] = None  # that of the record
    with Policy.load(bundle, **deployment) as policy:
        check_known(record, policy.bundle)
        return reproduction(record, policy.decide_many([call])[0])


def _find(log: str | None, id_: str | None) -> DecisionRecord:
    from ironcurtain.enforcement.audit.log_paths import audit_directory, find_log, find_logs
    from ironcurtain.enforcement.audit.reader import read_records
    from ironcurtain.enforcement.audit.summary import find_entry

    if id_ is not None:
        _, entry = find_entry(find_logs(log, audit_directory()), id_)
        return entry.decision
    paths = find_log(log, audit_directory())
    decisions = [line.record for line in read_records(paths) if line.record.kind == "decision"]
    if not decisions:
        raise UsageError("the audit log holds no decision", where=str(paths.path))
    return decisions[-1]


def _clause(
    clause: str,
    bundle: str,
    scenarios: str | None,
    options: PolicyOptions,
    *,
    view: str,
    format_: str,
) -> Exit:
    from ironcurtain.analysis.clauses.outcomes import clause_report
    from ironcurtain.analysis.explain.clause import explain_clause
    from ironcurtain.analysis.explain.text import clause_markdown_lines, clause_text_lines
    from ironcurtain.cli.review.policy_argument import assumed_scenarios, opa_command, read_rendered

    if view == "agent":
        raise UsageError("an agent is told no policy text", hint="Leave --view out.")
    read = read_rendered(
        bundle,
        verify_key=options["verify_key"],
        expect_revision=options["expect_revision"],
        min_serial=options["min_serial"],
    )
    tests = assumed_scenarios(bundle, scenarios)
    engine = opa_command(options["opa"])
    if clause == ALL:
        return _clauses(clause_report(read, tests, engine), format_)
    explanation = explain_clause(read, clause, tests, engine)
    _print(explanation, clause_text_lines(explanation), clause_markdown_lines(explanation), format_)
    return Exit.YES


def _clauses(report: ClauseReport, format_: str) -> Exit:
    from ironcurtain.analysis.clauses.outcomes_text import report_lines
    from ironcurtain.analysis.explain.text import report_markdown_lines

    _print(report, report_lines(report), report_markdown_lines(report), format_)
    return Exit.YES


def _show(explanation: Explanation, format_: str) -> None:
    from ironcurtain.analysis.explain.text import markdown_lines, text_lines

    _print(explanation, text_lines(explanation), markdown_lines(explanation), format_)


def _show_agent(
    decision: Decision, id_: str, record: DecisionRecord | None, loaded: LoadedPolicy, format_: str
) -> None:
    from ironcurtain.decision.agent_view import agent_view

    state: AgentState | None = None
    if record is not None and record.approval is not None:
        if record.approval.state == "approved":
            decision = decision.model_copy(update={"verdict": record.approval.verdict})
        else:
            state = record.approval.state
    tool = loaded.tool(decision.server, decision.tool)
    view = agent_view(decision, id_, state=state, tool=tool.annotation if tool else None)
    if format_ == "json":
        print_json(view)
    else:
        click.echo(view.text if format_ == "text" else view.text.replace("\n", "\n\n"))


def _print(value: Frozen, text: Iterable[str], markdown: Iterable[str], format_: str) -> None:
    from ironcurtain.analysis.explain.text import joined

    if format_ == "json":
        print_json(value)
    else:
        click.echo(joined(text if format_ == "text" else markdown))
