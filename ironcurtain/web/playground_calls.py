"""Calls that a person brings to the playground: pasted, or from the audit log."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from ironcurtain.analysis.explain.record import check_known, recorded_call
from ironcurtain.bundle.archive import Bundle
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.errors import FormatError, UsageError
from ironcurtain.model.scenarios import DescribedWorld, ScenarioCall
from ironcurtain.system import json_text, yaml_text
from ironcurtain.system.configuration_directory import CONFIGURATION_DIRECTORY
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

_OF_CALL = ("server", "tool", "arguments", "caller", "facts", "at")


def pasted_call(text: str) -> ScenarioCall:
    """Return the call of a text: one of `decide --batch`, an item of scenarios, or a line of an audit log.

    Raises:
        UsageError: If it is none of these.
    """
    value = _read(text)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    whole = json_text.members(value)
    record = json_text.members(whole.get("record"))
    found = record or json_text.members(whole.get("call")) or whole
    known = {key: found[key] for key in _OF_CALL if found.get(key) is not None}
    if record and (facts := json_text.members(record.get("facts"))):
        known |= {"facts": facts.get("values") or {}, "at": facts.get("at")}
    try:
        return ScenarioCall.model_validate_json(json_text.canonical(known))
    except ValidationError as error:
        where = ".".join(str(step) for step in error.errors()[0]["loc"])
        raise UsageError(
            f"this is no call: {visible(where)}: {visible(error.errors()[0]['msg'])}",
            hint='Paste {"server": …, "tool": …, "arguments": {…}}, a scenario, or a line of an audit log.',
        ) from None


def call_of_record(record: DecisionRecord, bundle: Bundle) -> ScenarioCall:
    """Return the call of a recorded decision.

    Raises:
        EvidenceError: If the record does not hold what the policy could test.
    """
    check_known(record, bundle)
    call = recorded_call(record)
    return ScenarioCall(
        server=record.server,
        tool=record.tool,
        arguments=record.arguments or {},
        caller=record.caller or None,
        facts=dict(call.facts) if call.facts else None,
        at=record.facts.at if record.facts is not None else None,
    )


def machine_of_record(record: DecisionRecord, assumed: DescribedWorld) -> DescribedWorld:
    """Return what is known of the machine of a recorded call: its directories, and none of its files."""
    home = str(Path.home())
    return DescribedWorld(
        home=home,
        sandbox=record.sandbox.directory,
        protected=(f"{home}/{CONFIGURATION_DIRECTORY}",),
        domains=assumed.domains,
    )


def _read(text: str) -> JsonValue:
    """Read JSON, or else YAML, as scenarios are written in."""
    try:
        return json_text.parse(text)
    except json_text.MalformedJsonError:
        pass
    try:
        return yaml_text.parse(text, "the call")
    except FormatError as error:
        raise UsageError(f"this is neither JSON nor YAML: {visible(error.what)}") from None
