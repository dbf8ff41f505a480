"""Evidence against bare OPA, at two sizes of policy, and a difference against a matrix."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench.figures import Figures, measure
from support.projects import shipped
from support.projects.policies import annotations_of, named_lists

from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.matrix.matrix import decision_matrix, matrix_json
from ironcurtain.analysis.mutation.score import mutation_score
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import DescribedWorld, Scenarios
from ironcurtain.system import assets
from ironcurtain.system.files import load, parse_document
from ironcurtain.system.frozen import JsonValue

pytestmark = pytest.mark.bench
SERVERS = 10
CLAUSES = 10
TEXT = {"type": "string", "minLength": 1}
TOOLS = {
    "read": {"path": ["read-path"]},
    "write": {"path": ["write-path"], "note": ["none"]},
    "fetch": {"url": ["fetch-url"]},
    "send": {"to": ["recipient"], "attachment": ["read-path"]},
}
WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/sandbox")


class KeepsInputs(OpaCommand):
    """OPA's commands, which also keep the inputs of every evaluation."""

    def __init__(self, directory: Path) -> None:
        super().__init__(find())
        self.directory = directory
        self.kept: list[Path] = []

    def eval(self, query: str, *, bundles: Any = (), data: Any = (), **more: Any) -> JsonValue:
        """Keep the data files, then evaluate."""
        for file in data:
            if file.suffix == ".json":
                self.kept.append(
                    Path(shutil.copyfile(file, self.directory / f"inputs-{len(self.kept)}.json"))
                )
        return super().eval(query, bundles=bundles, data=data, **more)


def bare(bundle: Bundle, directory: Path) -> Any:
    """Return what runs one bare `opa eval` over the inputs that the matrix asks about."""
    keeping = KeepsInputs(directory)
    decision_matrix(bundle, shipped.world(), keeping)
    questions = {
        f"{number}-{id_}": question
        for number, file in enumerate(keeping.kept)
        for id_, question in json.loads(file.read_text())["ironcurtain_inputs"].items()
    }
    (directory / "bundle.tar.gz").write_bytes(bundle.archive())
    (directory / "inputs.json").write_text(json.dumps({"ironcurtain_inputs": questions}))
    module = assets.REGO / "ironcurtain_verify" / "verify.rego"
    files = ["--bundle", "bundle.tar.gz", "--data", "inputs.json", "--data", str(module)]
    command = [str(find().path), "eval", "--format", "json", *files, "data.ironcurtain_verify.results"]
    return lambda: subprocess.run(command, cwd=directory, check=True, capture_output=True)


def scaled(rules: int) -> Bundle:
    """Return a bundle of so many rules over ten servers with four tools each, in ten clauses a server."""
    servers = [f"s{n}" for n in range(SERVERS)]
    annotated = annotations_of({server: [annotation(tool) for tool in TOOLS] for server in servers})
    document = {
        "format": "ironcurtain/policy/v1",
        "clauses": [
            {"id": f"C{n}", "text": f"Sentence {n}."} for n in range(1, min(rules, SERVERS * CLAUSES) + 1)
        ],
        "rules": [rule(n, servers, min(rules, SERVERS * CLAUSES)) for n in range(rules)],
    }
    return assemble(
        parse_document(json.dumps(document), "compiled-policy.json", CompiledPolicy),
        annotated,
        named_lists({}),
        registry=Registry(annotated.roles),
        release=Release(engine_version="bench"),
    )


def annotation(name: str) -> dict[str, Any]:
    arguments = TOOLS[name]
    return {
        "tool": name,
        "side_effects": name != "read",
        "contained": "path" in arguments,
        "input_schema": {
            "type": "object",
            "properties": dict.fromkeys(arguments, TEXT),
            "required": list(arguments),
            "additionalProperties": False,
        },
        "args": [{"name": argument, "roles": roles} for argument, roles in arguments.items()],
    }


def rule(n: int, servers: list[str], clauses: int) -> dict[str, Any]:
    """Return rule number n: a place, a site or a person of its own for one tool of one server."""
    tool = list(TOOLS)[n // len(servers) % len(TOOLS)]
    condition: dict[str, Any] = {
        "read": {"paths": {"roles": ["read-path"], "within": [f"~/work/d{n:04d}"]}},
        "write": {"paths": {"roles": ["write-path"], "within": [f"~/work/d{n:04d}/out"]}},
        "fetch": {"domains": {"roles": ["fetch-url"], "allowed": [f"h{n:04d}.example.com"]}},
        "send": {"lists": {"roles": ["recipient"], "allowed": [f"p{n:04d}@example.com"]}},
    }[tool]
    then = ("allow", "allow", "escalate")[n // 40 % 3]
    return {
        "name": f"r{n:04d}",
        "clause": f"C{n % clauses + 1}",
        "reason": "As the sentence says.",
        "then": then,
        "if": {"server": [servers[n % len(servers)]], "tool": [tool], **condition},
    }


def test_the_shipped_policys_matrix_and_difference(tmp_path: Path, figures: Figures) -> None:
    old, opa, world = shipped.bundle(), OpaCommand(find()), shipped.world()
    new = shipped.bundle(lambda rules: rules.pop(len(rules) // 2))
    plain, matrix, changed = measure(
        bare(old, tmp_path),
        lambda: decision_matrix(old, world, opa),
        lambda: difference(old, new, world, opa),
        repetitions=5,
    )
    figures.add(
        "matrix of the shipped policy / bare opa eval", matrix.per(plain), 3, f"{matrix}; bare {plain}"
    )
    figures.add(
        "difference of the shipped policy / its matrix", changed.per(matrix), 2.2, f"{changed}; {matrix}"
    )


def test_a_hundred_times_the_rules(figures: Figures) -> None:
    few, many, opa = scaled(50), scaled(5_000), OpaCommand(find())
    small, large = measure(
        lambda: decision_matrix(few, WORLD, opa), lambda: decision_matrix(many, WORLD, opa), repetitions=2
    )
    figures.add(
        "matrix of 5,000 rules / of 50 rules, 10 servers", large.per(small), 60, f"{large}; 50 rules {small}"
    )
    golden = matrix_json(decision_matrix(many, WORLD, opa))
    lines = golden.count("\n")
    figures.add("kilobytes of the golden file of 5,000 rules", len(golden.encode()) / 1e3, 400, "")
    figures.add("lines of the golden file of 5,000 rules", lines, 2_000, "")


def test_the_mutation_score(figures: Figures) -> None:
    bundle, world, opa = shipped.bundle(), shipped.world(), OpaCommand(find())
    known = load(shipped.GENERATED / "test-scenarios.json", Scenarios)
    promised = load(shipped.ROOT / "guarantees.yaml", Guarantees)
    matrix, score = measure(
        lambda: decision_matrix(bundle, world, opa),
        lambda: mutation_score(bundle, known, promised, opa),
        repetitions=2,
    )
    figures.add("mutation score of the shipped policy / its matrix", score.per(matrix), 40, f"{score}")
