"""Small policies in which a defect is planted, over tools that write, delete, send, push and query."""

from __future__ import annotations

from typing import Any

from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.analysis.findings.findings import Material, find
from ironcurtain.analysis.findings.report import FindingReport
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find as find_opa
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import DescribedWorld, Scenarios
from ironcurtain.system import json_text
from ironcurtain.system.files import parse_document
from support.projects.policies import CALLER, annotations_of, named_lists

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/sandbox")
_TEXT = {"type": "string"}
_TOOLS: dict[str, tuple[dict[str, Any], dict[str, list[str]], list[str]]] = {
    # name: properties of its schema, roles of its resources, what it requires
    "read_file": ({"path": _TEXT}, {"path": ["read-path"]}, ["path"]),
    "edit_file": (
        {"path": _TEXT, "mode": {"enum": ["append", "replace"]}},
        {"path": ["read-path", "write-path"]},
        ["path"],
    ),
    "delete_file": ({"path": _TEXT}, {"path": ["delete-path"]}, ["path"]),
    "send_mail": (
        {
            "to": {"type": "array", "items": _TEXT, "minItems": 1},
            "subject": _TEXT,
            "priority": {"type": "integer", "minimum": 0, "maximum": 9},
        },
        {"to": ["recipient"]},
        ["to"],
    ),
    "run_query": ({"sql": _TEXT}, {}, ["sql"]),
    "label_file": (
        {
            "path": _TEXT,
            "label": {"type": ["string", "integer"]},
            "tags": {"type": "array", "items": _TEXT},
            "options": {"type": "object"},
        },
        {"path": ["read-path"]},
        ["path", "label", "tags"],
    ),
}
_USUAL = ("read_file", "edit_file", "delete_file", "send_mail", "run_query")


def tool(name: str, more: dict[str, Any]) -> dict[str, Any]:
    """Return the annotation of one of the tools, with more keywords in its schema."""
    properties, resources, required = _TOOLS[name]
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    schema |= more
    args = [{"name": each, "roles": resources.get(each, ["none"])} for each in properties]
    contained = any("path" in role for roles in resources.values() for role in roles)
    return {
        "tool": name,
        "side_effects": name != "read_file",
        "contained": contained,
        "input_schema": schema,
        "args": args,
    }


CRM: list[dict[str, Any]] = [
    {
        "tool": name,
        "side_effects": side_effects,
        "reads": not side_effects,
        "input_schema": {
            "type": "object",
            "properties": {argument: {"type": "string"} for argument in arguments},
            "required": arguments,
            "additionalProperties": False,
        },
        "args": [{"name": argument, "roles": ["none"], "required": True} for argument in arguments],
    }
    for name, side_effects, arguments in (("get_customer", False, ["id"]), ("add_note", True, ["id", "text"]))
]


def bundle_of(document: dict[str, Any]) -> Bundle:
    """Return the bundle of a document with `rules`.

    Rules may leave out their clause (C1) and their reason. The document may hold `tools`, `schema`,
    `clauses`, `claims`, `approvers` and `lists`, too; with `facts` there is a second server, `crm`, for
    look-ups.
    """
    names = document.get("tools", _USUAL)
    servers = {"files": [tool(name, document.get("schema", {})) for name in names]}
    if "facts" in document:
        servers["crm"] = CRM
    annotated = annotations_of(servers)
    return assemble(
        _policy(document),
        annotated,
        named_lists(document.get("lists", {})),
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )


def findings_of(document: dict[str, Any], world: DescribedWorld = WORLD) -> FindingReport:
    """Return the findings about a document, which may hold `scenarios`, too."""
    opa = OpaCommand(find_opa())
    scenarios = None
    if "scenarios" in document:
        text = json_text.pretty({"format": "ironcurtain/scenarios/v1", "scenarios": document["scenarios"]})
        scenarios = parse_document(text, "scenarios.yaml", Scenarios).scenarios
    examined = analyse_policy(bundle_of(document), world, opa)
    return find(examined, Material(languages, scenarios), opa)


def _policy(document: dict[str, Any]) -> CompiledPolicy:
    rules = [{"clause": "C1", "reason": "So.", **rule} for rule in document["rules"]]
    clauses = document.get("clauses", [{"id": "C1", "text": "As said."}])
    text = json_text.pretty(
        {
            "format": "ironcurtain/policy/v1",
            "clauses": clauses,
            "rules": rules,
            "claims": document.get("claims", []),
            "approvers": document.get("approvers", {}),
            "caller": document.get("caller", CALLER),
            "facts": document.get("facts", {}),
        }
    )
    return parse_document(text, "compiled-policy.json", CompiledPolicy)
