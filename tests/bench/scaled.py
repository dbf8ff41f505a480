"""Policies of any number of rules of one tool, told apart by what they name, and calls that meet one rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.projects.policies import annotations_of, compiled, rule, tool

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.decision.roles import Registry

SERVER = "bench"
_TEXT = {"type": "string"}


def _with_schema(annotated: dict[str, Any], **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return annotated | {"input_schema": schema}


READ_ONE = _with_schema(tool("read_file", path=["read-path"]), path=_TEXT)
READ_MANY = _with_schema(
    tool("read_files", paths=["read-path"]), paths={"type": "array", "items": _TEXT, "minItems": 1}
)


def bundle(tools: list[dict[str, Any]], rules: list[dict[str, Any]]) -> Bundle:
    """Return the bundle of rules about the one server of these benchmarks."""
    annotated = annotations_of({SERVER: tools})
    return assemble(
        compiled(rules),
        annotated,
        None,
        registry=Registry(annotated.roles),
        release=Release(engine_version="bench"),
    )


def load(made: Bundle, home: Path, **site: Any) -> LoadedPolicy:
    """Load a bundle on this machine."""
    return LoadedPolicy(PolicyContent.of(made), Deployment(home=str(home), **site), ThisHost(home=str(home)))


def directory_rules(home: Path, count: int, tools: list[str]) -> list[dict[str, Any]]:
    """Return rules that each allow the tools in one directory of a home."""
    return [
        rule(
            f"r{n:05d}",
            "allow",
            server=[SERVER],
            tool=tools,
            paths={"roles": ["read-path"], "within": [f"{home}/d{n:02d}"]},
        )
        for n in range(count)
    ]
