"""A proxy whose policy declares facts, in front of a server of orders: for tests of records and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from fixtures import record_server

from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.servers.tools import ToolListing, tool_digest
from ironcurtain.system.files import parse_document
from support.deployments.proxied import Place
from support.projects.policies import CALLER, annotations_of, rule, tool, write_servers

FACTS: dict[str, Any] = {
    "order": {
        "source": "record",
        "clause": "C1",
        "server": "shop",
        "tool": "get_order",
        "arguments": {"order_id": {"arg": "/order_id"}},
        "identity": {"order_id": "/order_id"},
        "fields": {
            "status": {"at": "/status", "type": "string"},
            "items": {"at": "/items/*/id", "type": "strings"},
            "placed": {"at": "/placed", "type": "instant"},
        },
    },
    "paid": {
        "source": "counter",
        "clause": "C1",
        "of": {"tool": ["pay"]},
        "add": {"arg": "/amount"},
        "per": "caller",
        "window": "week",
    },
    "refunds": {
        "source": "counter",
        "clause": "C1",
        "of": {"tool": ["refund"]},
        "per": "session",
        "window": "session",
    },
    "named": {"source": "said", "clause": "C1", "args": ["/to"]},
    "private": {"source": "label", "clause": "C1", "from": {"tool": ["read_private"]}},
    "confidential": {
        "source": "label",
        "clause": "C1",
        "from": {"tool": ["read_inbox"]},
        "from_result": [{"name": "/class", "op": "equals", "value": "confidential"}],
    },
}


def fact(name: str, op: str, value: Any) -> dict[str, Any]:
    """Write a test of a fact."""
    return {"fact": name, "op": op, "value": value}


RULES = [
    rule("free", "allow", tool=["get_order", "read_private", "read_inbox"]),
    rule("pending", "allow", tool=["cancel_order"], facts=[fact("order/status", "equals", "pending")]),
    rule("held", "escalate", tool=["cancel_order"], facts=[fact("order/status", "equals", "held")]),
    rule("budget", "allow", tool=["pay"], facts=[fact("paid", "le", 1000)]),
    rule("few", "allow", tool=["refund"], facts=[fact("refunds", "le", 3)]),
    rule("kept", "deny", tool=["send_mail"], facts=[fact("private", "equals", True)]),
    rule("kept-too", "deny", tool=["send_mail"], facts=[fact("confidential", "equals", True)]),
    rule("mail", "allow", tool=["send_mail"]),
]
ORDER = {
    "order_id": "o1",
    "status": "pending",
    "items": [{"id": "i2"}, {"id": "i1"}],
    "placed": "2026-11-23T08:00:00Z",
}


class Shop(Place):
    """The directories of one test: a home, a server of orders, a bundle with facts."""

    def __init__(
        self, root: Path, rules: list[dict[str, Any]] | None = None, facts: dict[str, Any] | None = None
    ) -> None:
        self.root, self.facts = root, FACTS if facts is None else facts
        self.home = root / "home"
        self.home.mkdir(parents=True)
        self.journal, self.records_file = root / "journal", root / "records.json"
        self.answer(ORDER)
        environment = {
            "FIXTURE_JOURNAL": str(self.journal),
            "FIXTURE_RECORDS": str(self.records_file),
            "PYTHONPATH": "",
        }
        entry = {"command": sys.executable, "args": [record_server.__file__], "env": environment}
        self.servers = write_servers(root, {"shop": {**entry, "sandbox": False}})
        self.made, self.names = rules or RULES, ["shop"]
        self.bundle = self.publish_facts(self.made)

    def answer(self, *orders: dict[str, Any], **answers: Any) -> None:
        """Let the server know these orders, and answer calls of tools so."""
        known = {"orders": {order["order_id"]: order for order in orders}, "answers": answers}
        scratch = self.records_file.with_suffix(".new")
        scratch.write_text(json.dumps(known))
        scratch.replace(self.records_file)

    def publish_facts(self, made: list[dict[str, Any]]) -> Path:
        """Write the bundle anew, in one step."""
        annotated = annotations_of({server: [*map(_annotated, record_server.TOOLS)] for server in self.names})
        document = {
            "format": "ironcurtain/policy/v1",
            "caller": CALLER,
            "clauses": [{"id": "C1", "text": "As said."}],
            "facts": self.facts,
            "rules": made,
        }
        policy = parse_document(json.dumps(document), "compiled-policy.json", CompiledPolicy)
        bundle = assemble(
            policy, annotated, registry=Registry(annotated.roles), release=Release(engine_version="test")
        )
        scratch = self.root / "scratch.tar.gz"
        scratch.write_bytes(bundle.archive())
        return scratch.replace(self.root / "bundle.tar.gz")

    def printed(self, *arguments: str) -> str:
        """Return what a command of ours prints for the user of this place."""
        program = "from ironcurtain.cli.main import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def called(self, tool_name: str) -> list[dict[str, Any]]:
        """Return the arguments with which a tool was really called."""
        return [entry["arguments"] for entry in self.sent() if entry["tool"] == tool_name]

    @property
    def store(self) -> Path:
        """The store of totals."""
        return self.home / ".ironcurtain" / "state" / "totals.sqlite"


def _annotated(listed: dict[str, Any]) -> dict[str, Any]:
    name, schema = listed["name"], listed["inputSchema"]
    made = tool(
        name,
        contained=False,
        side_effects=not name.startswith("get"),
        **{
            f"/{name}/*" if kind is record_server.TEXTS else name: ["none"]
            for name, kind in schema["properties"].items()
        },
    )
    digest = tool_digest(ToolListing(name=name, description=listed["description"], input_schema=schema))
    return {**made, "schema_digest": digest, "input_schema": schema, "reads": name.startswith("get")}
