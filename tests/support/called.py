"""Calls decided without an engine: a policy in a described world (or on a real disk), and answers of our own.

`decide_here` evaluates the rules with the Python twin of specification 3, so that thousands of calls cost
no process; what the real engine says is the subject of the facts and integration tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.canonical.host_view import HostView
from ironcurtain.decision.canonical.simulated_host import SimulatedHost
from ironcurtain.decision.decide import Call, Prepared, decide, prepare
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.decision.roles import Registry
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import DescribedWorld
from support.oracles import twin
from support.projects.policies import annotations_of, compiled, named_lists

ROOT = Path(__file__).parents[2]
HOME, SANDBOX = "/home/user", "/home/user/sandbox"


def bundle(
    servers: Mapping[str, list[dict[str, Any]]],
    rules: list[dict[str, Any]] | None = None,
    *,
    roles: list[dict[str, Any]] | None = None,
    lists: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
) -> Bundle:
    annotated = annotations_of(servers, roles)
    return assemble(
        compiled(rules or [], **(policy or {})),
        annotated,
        named_lists(lists) if lists is not None else None,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )


def described(**options: Any) -> DescribedWorld:
    return DescribedWorld.model_validate({"home": HOME, "sandbox": SANDBOX} | options, strict=False)


def load(made: Bundle, world: DescribedWorld | None = None, disk: HostView | None = None) -> LoadedPolicy:
    """Load a bundle at the places that a description names, looked up there or on a disk."""
    world = world or described()
    site = Deployment(world.home, world.sandbox, world.protected, world.working_roots, world.domains)
    return LoadedPolicy(PolicyContent.of(made), site, disk or SimulatedHost(world))


def one_tool(tool: dict[str, Any], rules: list[dict[str, Any]] | None = None, **options: Any) -> LoadedPolicy:
    """Load a policy whose one server `s` has one tool; options are those of the bundle and the world."""
    parts = {key: options.pop(key) for key in ("roles", "lists", "policy") if key in options}
    return load(bundle({"s": [tool]}, rules, **parts), described(**options))


def prepared(policy: LoadedPolicy, tool: str, arguments: Any, server: str = "s") -> Prepared:
    """Prepare a call that must come through steps 1 to 5."""
    found = prepare(Call(server, tool, arguments), policy)
    assert isinstance(found, Prepared), found.reason
    return found


def refused(policy: LoadedPolicy, tool: str, arguments: Any, server: str = "s") -> Decision:
    """Prepare a call that must end before the policy is asked."""
    found = prepare(Call(server, tool, arguments), policy)
    assert isinstance(found, Decision), "the call was not refused"
    assert found.verdict == "deny"
    return found


def subjects(policy: LoadedPolicy, tool: str, arguments: Any) -> list[tuple[str, str, str]]:
    """Return (pointer, role, value) of every subject of a call."""
    return [(s.at, s.role.name, s.value) for s in prepared(policy, tool, arguments).call.resources]


def decide_with(policy: LoadedPolicy, call: Call, answer: Callable[[PolicyInput], Any]) -> Decision:
    """Decide a call with an engine that is this function."""

    async def ask(question: PolicyInput) -> Any:
        return answer(question)

    return asyncio.run(decide(call, policy, ask))


def answering(rules: list[dict[str, Any]]) -> Callable[[PolicyInput], Any]:
    """Return an engine that evaluates rules (as JSON) with the Python twin."""

    def answer(question: PolicyInput) -> Any:
        said = twin.decide(rules, question)
        return said | {"clause": None, "reason": "as said"}

    return answer
