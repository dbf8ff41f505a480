"""A gate's report as JSON (`schemas/gate-report.json`)."""

from __future__ import annotations

import json

from ironcurtain.compiler.verify.gate_report import GateReport
from ironcurtain.system.frozen import JsonValue


def json_text(report: GateReport) -> str:
    """Return the report as JSON."""
    return ascii_json(report.model_dump(mode="json"))


def ascii_json(value: JsonValue) -> str:
    """Serialise in ASCII: what strangers wrote stays exact, and a terminal that shows it is not driven."""
    return json.dumps(value, indent=2, sort_keys=True) + "\n"
