"""`ironcurtain decide`: decide calls on an embedded engine and show why."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ironcurtain.cli.loading import policy_options
from ironcurtain.decide.decide import Call
from ironcurtain.errors import Exit, UsageError
from ironcurtain.files import read_bytes
from ironcurtain.model import jsontext
from ironcurtain.model.base import Json
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict
from ironcurtain.policy import Policy
from ironcurtain.text import visible

_EXITS = {Verdict.ALLOW: Exit.YES, Verdict.ESCALATE: Exit.PERSON, Verdict.DENY: Exit.NO}
_WORST_FIRST = (Exit.NO_ANSWER, Exit.NO, Exit.PERSON, Exit.YES)
_BATCH_BYTES = 1 << 30
_CALL_KEYS = {"id", "server", "tool", "arguments", "caller"}
_CHANGES = {
    "structural-malformed-call": "Send strict JSON.",
    "structural-unknown-tool": "Annotate the tool, or call one that is annotated.",
    "structural-tool-drift": "Annotate the changed tool again.",
    "structural-invalid-arguments": "Correct the arguments.",
    "structural-unrepresentable-argument": "Write the argument plainly.",
    "structural-protected-path": "Nothing: no policy can permit it.",
    "structural-domain-escalate": "A person's approval, or the address on the server's domain list.",
    "structural-unresolved-remote": "A person's approval, or a remote given as URL.",
    "default-deny": "A rule that covers the denied subjects.",
}


@click.command(short_help="Decide tool calls on an embedded engine.")
@policy_options
@click.option("--caller", metavar="JSON", help="Facts about whom the agent acts for, as an object.")
@click.option("--batch", metavar="FILE", help="JSON lines, one call each; one decision a line comes out.")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("server", required=False)
@click.argument("tool", required=False)
@click.argument("arguments", required=False)
def command(
    *,
    policy: Policy,
    caller: str | None,
    batch: str | None,
    format_: str,
    server: str | None,
    tool: str | None,
    arguments: str | None,
) -> Exit:
    """Decide one call, or with --batch a file of calls.

    \b
    Example:
      ironcurtain decide --bundle generated/bundle --sandbox work \\
        filesystem read_text_file '{"path": "notes.txt"}'

    \b
    Exit: 0 allow, 4 escalate, 1 deny, 3 no answer from the engine,
    2 wrong options or files. With --batch: the worst line, in the
    order 3, 1, 4, 0.
    """  # noqa: D301 - click reads the escape
    facts = _caller(caller)
    if batch is not None:
        if server is not None:
            raise UsageError(
                "--batch takes no SERVER, TOOL and ARGUMENTS", hint="Put the call into the file."
            )
        calls = _read_batch(Path(batch), facts)
        format_ = "json"
    elif server is None or tool is None or arguments is None:
        raise UsageError("give SERVER, TOOL and ARGUMENTS, or --batch FILE")
    else:
        calls = [Call(server, tool, arguments, facts)]
    with policy:
        decisions = policy.decide_many(calls)
    for decision in decisions:
        click.echo(_as_json(decision) if format_ == "json" else _as_text(decision))
    exits = {_exit(decision) for decision in decisions}
    return next(each for each in _WORST_FIRST if each in exits)


def _caller(text: str | None) -> dict[str, Json] | None:
    if text is None:
        return None
    try:
        facts = jsontext.parse(text)
    except jsontext.MalformedJsonError as error:
        raise UsageError(f"--caller is not strict JSON: {visible(str(error))}") from None
    if not isinstance(facts, dict):
        raise UsageError("--caller is no JSON object")
    return facts


def _read_batch(path: Path, facts: dict[str, Json] | None) -> list[Call]:
    lines = read_bytes(path, max_bytes=_BATCH_BYTES).split(b"\n")
    calls = [_call(line, facts) for line in lines if line.strip()]
    if not calls:
        raise UsageError("the batch holds no call", hint="Write one JSON object a line.")
    return calls


def _call(line: bytes, facts: dict[str, Json] | None) -> Call:
    """Read one line; what is no call becomes one that is denied as malformed."""
    try:
        value = jsontext.parse(line, max_bytes=2 * jsontext.MAX_BYTES)
    except jsontext.MalformedJsonError:
        return Call("", "", line)
    if not isinstance(value, dict) or not _is_call(value):
        return Call("", "", "no call", id=_id(value))
    caller = value.get("caller", facts)
    return Call(value["server"], value["tool"], value.get("arguments"), caller, id=_id(value))


def _is_call(value: dict[str, Json]) -> bool:
    texts = isinstance(value.get("server"), str) and isinstance(value.get("tool"), str)
    return texts and value.keys() <= _CALL_KEYS and isinstance(value.get("caller", {}), dict)


def _id(value: Json) -> str | None:
    found = value.get("id") if isinstance(value, dict) else None
    return found if found is None or isinstance(found, str) else json.dumps(found)


def _exit(decision: Decision) -> Exit:
    if decision.rule.startswith("engine-") or decision.rule == "internal-error":
        return Exit.NO_ANSWER
    return _EXITS[decision.verdict]


def _as_json(decision: Decision) -> str:
    document = decision.model_dump(mode="json")
    if decision.arguments is None:
        del document["arguments"]
    return json.dumps(document, ensure_ascii=False)


def _as_text(decision: Decision) -> str:
    lines = [
        f"{decision.verdict.upper()}  {visible(decision.server)}/{visible(decision.tool)}",
        f"  rule:    {visible(decision.rule)}",
        f"  reason:  {visible(decision.reason)}",
    ]
    if decision.clause:
        lines.append(f"  clause:  {visible(decision.clause)} {visible(decision.clause_text or '')}".rstrip())
    for subject in decision.subjects:
        where = subject.at or "the call"
        shown = f"{subject.role} {visible(subject.value)}" if subject.at else subject.role
        lines.append(f"  {subject.verdict.upper():8} {visible(where)}: {shown}  ({visible(subject.rule)})")
    if change := _change(decision):
        lines.append(f"  to change it: {change}")
    return "\n".join(lines)


def _change(decision: Decision) -> str | None:
    """Say what would have to change for the call to be allowed."""
    if decision.verdict is Verdict.ALLOW:
        return None
    if decision.rule in _CHANGES:
        return _CHANGES[decision.rule]
    if decision.verdict is Verdict.ESCALATE:
        return "A person's approval of this call."
    return "Another clause in the constitution; no approval can permit it."
