"""Policies of any number of rules of one tool, told apart by what they name, and calls that meet one rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.projects.policies import annotations_of, compiled, named_lists, rule, tool

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
FETCH = _with_schema(tool("fetch", contained=False, url=["fetch-url"]), url=_TEXT)
SEND = _with_schema(tool("send", contained=False, to=["recipient"]), to=_TEXT)


@dataclass(frozen=True)
class Kind:
    """A way in which rules of one tool differ.

    Attributes:
        condition: The condition that sets rule number n apart from the others.
        arguments: Arguments of a call that rule number n alone allows.
        lists: The named lists that rule number n needs.
    """

    name: str
    tool: dict[str, Any]
    condition: Callable[[int], dict[str, Any]]
    arguments: Callable[[int], dict[str, Any]]
    lists: Callable[[int], dict[str, Any]] = lambda _: {}


DIRECTORIES = Kind(
    "directories",
    READ_ONE,
    lambda n: {"paths": {"roles": ["read-path"], "within": [f"/data/d{n:05d}"]}},
    lambda n: {"path": f"/data/d{n:05d}/notes.txt"},
)
DOMAINS = Kind(
    "domains",
    FETCH,
    lambda n: {"domains": {"roles": ["fetch-url"], "allowed": [f"h{n:05d}.example.com"]}},
    lambda n: {"url": f"https://h{n:05d}.example.com/a"},
)
MEMBERS = Kind(
    "list members",
    SEND,
    lambda n: {"lists": {"roles": ["recipient"], "allowed": [f"@l{n:05d}"]}},
    lambda n: {"to": f"p{n:05d}@example.com"},
    lambda n: {f"l{n:05d}": {"type": "recipient", "added": [f"p{n:05d}@example.com"]}},
)
KINDS = (DIRECTORIES, DOMAINS, MEMBERS)


def bundle_of(kind: Kind, count: int) -> Bundle:
    """Return a bundle whose rules all speak of the kind's one tool."""
    name = kind.tool["tool"]
    rules = [
        rule(f"r{n:05d}", "allow", server=[SERVER], tool=[name], **kind.condition(n)) for n in range(count)
    ]
    lists = {name: members for n in range(count) for name, members in kind.lists(n).items()}
    return bundle([kind.tool], rules, lists)


def bundle(
    tools: list[dict[str, Any]], rules: list[dict[str, Any]], lists: dict[str, Any] | None = None
) -> Bundle:
    """Return the bundle of rules about the one server of these benchmarks."""
    annotated = annotations_of({SERVER: tools})
    return assemble(
        compiled(rules),
        annotated,
        named_lists(lists) if lists else None,
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
