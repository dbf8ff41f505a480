"""`ironcurtain audit`: reading, verifying and summing up audit logs, and receipts of them."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.options import (
    FORMAT,
    MARKDOWN_FORMAT,
    OPA,
    QUIET,
    F,
    TrustOptions,
    trust_options,
)
from ironcurtain.cli.output.results import print_result
from ironcurtain.errors import Exit, UsageError

if TYPE_CHECKING:
    from ironcurtain.enforcement.audit.log_paths import LogPaths
    from ironcurtain.enforcement.audit.record_types import AuditVerification, Head, Record

_DIRECTORY = click.option(
    "--directory", metavar="DIR", help="Where logs are found by name (default: ~/.ironcurtain/audit)."
)
_HEAD = click.option("--head", metavar="FILE", help="The log's head file (default: below heads/ beside it).")
_KEY = click.option(
    "--key",
    metavar="FILE",
    help="The key that vouches for the head (default: your own, for logs in ~/.ironcurtain/audit).",
)


def _log(command: F) -> F:
    return click.argument("log", required=False)(_DIRECTORY(command))


@click.group()
def command() -> None:
    """Read, verify and sum up audit logs, and make receipts of calls.

    LOG is a log's file or the name of a session; without it the newest log is meant.

    \b
    Example:
      ironcurtain audit verify work

    \b
    Exit: 2 no such log; see each command.
    """  # noqa: D301 - click reads the escape


@command.command()
@_log
@click.option("-n", "--lines", type=click.IntRange(0), default=10, show_default=True, help="How many.")
@click.option("-f", "--follow", is_flag=True, help="Go on as records are written.")
@click.option("--verdict", type=click.Choice(["allow", "escalate", "deny"]), help="Only such decisions.")
@click.option("--tool", metavar="SERVER/TOOL", help="Only decisions about this tool.")
@FORMAT
def tail(
    *,
    log: str | None,
    directory: str | None,
    lines: int,
    follow: bool,
    verdict: str | None,
    tool: str | None,
    format_: str,
) -> Exit:
    """Print the last records of a log, one a line.

    \b
    Example:
      ironcurtain audit tail work --follow --verdict deny

    \b
    Exit: 0 printed, 2 no such log, 3 a line cannot be trusted, 130 following was interrupted.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.audit.reader import follow as follow_lines
    from ironcurtain.enforcement.audit.reader import parse_line, read_lines
    from ironcurtain.enforcement.audit.record_types import DecisionRecord

    paths = _paths(log, directory, None)

    def wanted(record: Record) -> bool:
        if verdict is None and tool is None:
            return True
        return isinstance(record, DecisionRecord) and (
            verdict in (None, record.verdict) and tool in (None, f"{record.server}/{record.tool}")
        )

    last: deque[Record] = deque(maxlen=lines)
    read = 0
    for line in read_lines(paths):
        read += 1
        record = parse_line(line).record
        if wanted(record):
            last.append(record)
    for record in last:
        _print_record(record, format_)
    if follow:
        for line in follow_lines(paths, after=read):
            record = parse_line(line).record
            if wanted(record):
                _print_record(record, format_)
    return Exit.YES


@command.command()
@click.argument("id_", metavar="ID")
@_log
@FORMAT
def show(*, id_: str, log: str | None, directory: str | None, format_: str) -> Exit:
    """Print the decision ID (or the one whose id begins so) in full, with its result.

    Without LOG it is looked for in all logs of the directory.

    \b
    Example:
      ironcurtain audit show 4f2c1b

    \b
    Exit: 0 printed, 2 no such log or decision, 3 a line cannot be trusted.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.audit.log_paths import find_logs
    from ironcurtain.enforcement.audit.summary import entry_lines, find_entry

    _, entry = find_entry(find_logs(log, _folder(directory)), id_)
    print_result(entry, entry_lines(entry), format_)
    return Exit.YES


@command.command()
@_log
@_HEAD
@_KEY
@click.option("--witness", metavar="FILE", help="Receipts that `ironcurtain proxy --witness` wrote.")
@click.option("--no-head", is_flag=True, help="Verify the chain alone: nobody can tell what is cut off.")
@QUIET
@FORMAT
def verify(
    *,
    log: str | None,
    directory: str | None,
    head: str | None,
    key: str | None,
    witness: str | None,
    no_head: bool,
    quiet: bool,
    format_: str,
) -> Exit:
    """Find out whether a log is what was written: nothing changed, removed, added, reordered or cut off.

    \b
    Example:
      ironcurtain audit verify work

    \b
    Exit: 0 intact, 1 not intact, 2 no such log or key,
    3 the chain is intact, but without a head it cannot be told what is cut off.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.audit.log_paths import removed_log
    from ironcurtain.enforcement.audit.summary import verification_lines
    from ironcurtain.enforcement.audit.witness import witnessed

    folder = _folder(directory)
    missing = _missing(log, folder, key, witness) if witness is not None and log is not None else None
    if missing is not None:
        print_result(missing, verification_lines(missing), format_)
        return Exit.NO
    removed = removed_log(log, folder) if log is not None else None
    paths = removed if removed is not None else _paths(log, directory, head)
    told = _told(paths, key, witness)
    verification = witnessed(_verified(paths, key, use_head=not no_head), paths, told)
    if not verification.intact:
        status = Exit.NO
    else:
        status = Exit.YES if no_head or verification.truncation == "checked" else Exit.NO_ANSWER
    if not (quiet and status is Exit.YES):
        print_result(verification, verification_lines(verification), format_)
    return status


@command.command()
@_log
@FORMAT
def stats(*, log: str | None, directory: str | None, format_: str) -> Exit:
    """Count what a log holds: decisions, approvals, results, rules, tools.

    \b
    Example:
      ironcurtain audit stats work --format json

    \b
    Exit: 0 printed, 2 no such log, 3 a line cannot be trusted.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.audit.reader import read_records
    from ironcurtain.enforcement.audit.summary import statistics, statistics_lines

    paths = _paths(log, directory, None)
    found = statistics(paths.session, read_records(paths))
    print_result(found, statistics_lines(found), format_)
    return Exit.YES


@command.command()
@_log
@_HEAD
@_KEY
@MARKDOWN_FORMAT
def report(
    *, log: str | None, directory: str | None, head: str | None, key: str | None, format_: str
) -> Exit:
    """Sum up a session: what was asked of people, what was refused, what went wrong.

    \b
    Example:
      ironcurtain audit report work --format markdown > session.md

    \b
    Exit: 0 printed, 1 printed, but the log is not intact,
    2 no such log or key, 3 a line cannot be trusted.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.audit.reader import read_records
    from ironcurtain.enforcement.audit.summary import report as sum_up
    from ironcurtain.enforcement.audit.summary import report_lines

    paths = _paths(log, directory, head)
    summary = sum_up(read_records(paths), _verified(paths, key))
    print_result(summary, report_lines(summary, markdown=format_ == "markdown"), format_)
    return Exit.YES if summary.verification.intact else Exit.NO


@command.command()
@_log
@_HEAD
@_KEY
@FORMAT
def state(*, log: str | None, directory: str | None, head: str | None, key: str | None, format_: str) -> Exit:
    """Print the memory of a session: its labels, and what its calls have added to counters.

    It is what the log's records have booked, and nothing else. The log is verified first.

    \b
    Example:
      ironcurtain audit state work

    \b
    Exit: 0 printed, 1 the log is not intact, 2 no such log or key, 3 a line cannot be trusted.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.enforcement.audit.reader import read_records
    from ironcurtain.enforcement.audit.summary import verification_lines
    from ironcurtain.enforcement.facts.memory_report import state_lines, state_of

    paths = _paths(log, directory, head)
    verified = _verified(paths, key)
    if not verified.intact:
        print_result(verified, verification_lines(verified), format_)
        return Exit.NO
    memory = state_of(paths.session, read_records(paths))
    print_result(memory, state_lines(memory), format_)
    return Exit.YES


@command.command()
@click.argument("id_", metavar="[ID]", required=False)
@click.option("--log", metavar="LOG", help="The log (default: where ID is; for a period the newest).")
@click.option("--clause", metavar="C", help="The decisions of this sentence.")
@click.option("--since", metavar="TIME", default="", help="From this time on: 2026-07-01, or with the hour.")
@click.option("--until", metavar="TIME", default="~", help="Up to this time, which is not part of it.")
@click.option("-o", "--output", metavar="FILE", required=True, help="Where to write the receipt.")
@click.option("--bundle", metavar="B", help="The bundle that decided (default: the project's).")
@_DIRECTORY
@_HEAD
@_KEY
@click.option(
    "--witness", metavar="FILE", help="End the chain at what this witness was told, not at the head."
)
@trust_options
@OPA
def receipt(
    *,
    id_: str | None,
    log: str | None,
    clause: str | None,
    since: str,
    until: str,
    output: str,
    bundle: str | None,
    directory: str | None,
    head: str | None,
    key: str | None,
    witness: str | None,
    opa: str | None,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Write decisions to a file from which others can decide them again, without IronCurtain.

    It holds the decision ID (or the one whose id begins so), or those of a period, of a sentence, or both,
    with what OPA was asked and the proof of their position in the log. Of a period without --clause it holds
    all records, so that none can be left out.

    \b
    Example:
      ironcurtain audit receipt --clause C7 --since 2026-07-01 -o q3.json

    \b
    Exit: 0 written; nothing is written with 1 a record lacks what others
    need, or is not decided as it says; 2 no such log, decision or bundle;
    3 the log is not intact, another bundle decided, no engine.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.receipts.receipt import Choice, heads_of, make_receipt, moment
    from ironcurtain.analysis.receipts.report import receipt_lines, write_receipt
    from ironcurtain.bundle.opening import Trust, open_bundle
    from ironcurtain.cli.review.policy_argument import bundle_or_project, opa_command
    from ironcurtain.enforcement.audit.log_paths import find_logs
    from ironcurtain.enforcement.audit.reader import require_intact
    from ironcurtain.enforcement.audit.summary import find_entry
    from ironcurtain.enforcement.audit.witness import witnessed

    if (id_ is None) is not any((clause, since, until != "~")):
        raise UsageError(
            "give either ID or some of --clause, --since and --until", hint="See the command's --help."
        )
    is_anywhere = id_ is not None and log is None and head is None
    logs = find_logs(None, _folder(directory)) if is_anywhere else [_paths(log, directory, head)]
    paths = logs[0]
    if id_ is not None:
        paths, entry = find_entry(logs, id_)
        id_ = entry.decision.id
    choice = Choice(id=id_, clause=clause, since=moment(since), until=moment(until))
    told = _told(paths, key, witness)
    require_intact(witnessed(_verified(paths, key), paths, told), paths)
    read = open_bundle(Path(bundle_or_project(bundle)), Trust.of(**trust))
    heads = heads_of(paths) if told is None else told
    made = make_receipt(paths, choice, read, opa_command(opa), heads)
    write_receipt(made, Path(output))
    click.echo("\n".join(receipt_lines(made, output)))
    return Exit.YES


def _paths(log: str | None, directory: str | None, head: str | None) -> LogPaths:
    from ironcurtain.enforcement.audit.log_paths import find_log

    return find_log(log, _folder(directory), Path(head) if head is not None else None)


def _folder(directory: str | None) -> Path:
    from ironcurtain.enforcement.audit.log_paths import audit_directory

    return Path(directory) if directory is not None else audit_directory()


def _verified(paths: LogPaths, key: str | None, *, use_head: bool = True) -> AuditVerification:
    """Verify a log with the named key; one of the proxy's own logs without one with the proxy's key."""
    from ironcurtain.enforcement.audit.log_paths import read_key
    from ironcurtain.enforcement.audit.reader import verify as verify_log

    file = _key_file(paths, key)
    verification = verify_log(paths, key=read_key(file) if file else None, use_head=use_head)
    return verification.model_copy(update={"key": str(file) if verification.keyed else None})


def _told(paths: LogPaths, key: str | None, witness: str | None) -> list[Head] | None:
    """Return a witness's receipts of a log; None where no witness is asked."""
    from ironcurtain.enforcement.audit.log_paths import read_key
    from ironcurtain.enforcement.audit.witness import receipts

    if witness is None:
        return None
    file = _key_file(paths, key)
    return receipts(Path(witness), paths.session, read_key(file) if file else None)


def _missing(log: str, folder: Path, key: str | None, witness: str) -> AuditVerification | None:
    """Return what there is to say of a session whose log is gone; None where it is there, or is no name."""
    from ironcurtain.enforcement.audit.log_paths import session_log
    from ironcurtain.enforcement.audit.witness import gone

    try:
        paths = session_log(folder, log)
    except UsageError:
        return None
    return gone(paths, _told(paths, key, witness) or [])


def _key_file(paths: LogPaths, key: str | None) -> Path | None:
    """Return the named key; for one of the proxy's own logs without one the proxy's key."""
    from ironcurtain.enforcement.audit.log_paths import key_file

    return Path(key) if key is not None else key_file(paths)


def _print_record(record: Record, format_: str) -> None:
    from ironcurtain.enforcement.audit.summary import record_line

    if format_ == "json":
        click.echo(json.dumps(record.model_dump(mode="json"), ensure_ascii=False))
    else:
        click.echo(record_line(record))
