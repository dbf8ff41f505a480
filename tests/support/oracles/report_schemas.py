"""The schemas of SARIF and JUnit, as their projects publish them."""

from __future__ import annotations

import json
from pathlib import Path

import xmlschema

_DIRECTORY = Path(__file__).parents[2] / "fixtures" / "report_schemas"
SARIF = json.loads((_DIRECTORY / "sarif-2.1.0-rtm.5.json").read_text())
JUNIT = xmlschema.XMLSchema(_DIRECTORY / "junit-10.xsd")
