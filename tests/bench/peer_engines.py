"""The same policy in the hands of its peers: who may read which of N directories, asked for paths.

No peer resolves a path, reads strict JSON, validates a call or names the rule that decided: what is asked of
them is the least that a host can ask.
"""

from __future__ import annotations

import importlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from bench.scaled import READ_MANY, SERVER, bundle, directory_rules

from ironcurtain.engine.engine import Engine
from ironcurtain.engine.locate import find
from ironcurtain.policy import Policy

OURS, CEDAR, GROUPS, REGO = "IronCurtain", "Cedar, N policies", "Cedar, groups by the host", "Rego by hand"
SUBJECTS = (OURS, CEDAR, GROUPS, REGO)
_REVISION = "by hand"
_BY_HAND = """package ironcurtain.decision

allowed(path) if {
    some rule in data.ironcurtain.rules
    startswith(path, rule.directory)
}

default allow := false

allow if {
    every path in input.paths {
        allowed(path)
    }
}

decision := {"allow": allow}
"""

Ask = Callable[[Sequence[str]], bool]
"""Tells whether all these paths may be read."""


def directories(home: Path, rules: int) -> list[str]:
    """Return the directories that may be read, one for each rule."""
    return [f"{home}/d{n:02d}" for n in range(rules)]


def write_policy(home: Path, rules: int) -> Path:
    """Write our bundle of the policy beside the home; return its path."""
    path = home.with_name(f"{rules}.tar.gz")
    path.write_bytes(bundle([READ_MANY], directory_rules(home, rules, ["read_files"])).archive())
    return path


@contextmanager
def opened(subject: str, home: Path, rules: int) -> Iterator[tuple[Ask, int | None]]:
    """Load the policy; give the way to ask, and the process beside our own that it needs."""
    if subject == OURS:
        with Policy.load(home.with_name(f"{rules}.tar.gz"), home=home) as policy:
            assert isinstance(policy._engine, Engine)
            yield lambda paths: _ours(policy, paths), policy._engine.pid
    elif subject == REGO:
        engine = Engine(find(), _by_hand(home, rules), _REVISION)
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(engine):
            yield lambda paths: _rego(engine, paths), engine.pid
    else:
        yield (_cedar if subject == CEDAR else _groups)(directories(home, rules)), None


def _ours(policy: Policy, paths: Sequence[str]) -> bool:
    return policy.decide(SERVER, "read_files", {"paths": list(paths)}).allowed


def _rego(engine: Engine, paths: Sequence[str]) -> bool:
    return engine.query_blocking(json.dumps({"paths": paths}).encode()).result["allow"] is True


def _by_hand(home: Path, rules: int) -> bytes:
    named = [{"directory": f"{directory}/"} for directory in directories(home, rules)]
    files = {
        ".manifest": json.dumps({"roots": ["ironcurtain"], "revision": _REVISION, "rego_version": 1}),
        "ironcurtain/decision.rego": _BY_HAND,
        "ironcurtain/data.json": json.dumps({"rules": named}),
    }
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return target.getvalue()


def _cedar(allowed: list[str]) -> Ask:
    cedarpy: Any = importlib.import_module("cedarpy")
    policies = cedarpy.PolicySet.from_str(
        "\n".join(
            f'permit(principal, action == Action::"read", resource) when {{ context.path like "{each}/*" }};'
            for each in allowed
        )
    )
    none = cedarpy.Entities.from_json_str("[]")

    def ask(paths: Sequence[str]) -> bool:
        requests = [_request('File::"f"', path=path) for path in paths]
        if len(requests) == 1:
            return bool(cedarpy.is_authorized(requests[0], policies, none).allowed)
        return all(each.allowed for each in cedarpy.is_authorized_batch(requests, policies, none))

    return ask


def _groups(allowed: list[str]) -> Ask:
    cedarpy: Any = importlib.import_module("cedarpy")
    policies = cedarpy.PolicySet.from_str(
        'permit(principal, action == Action::"read", resource) when { context.group == "readable" };'
    )
    none, known = cedarpy.Entities.from_json_str("[]"), frozenset(allowed)

    def group(path: str) -> str:
        while path and path not in known:
            path = path.rpartition("/")[0]
        return "readable" if path else "other"

    def ask(paths: Sequence[str]) -> bool:
        requests = [_request('File::"f"', group=group(path)) for path in paths]
        if len(requests) == 1:
            return bool(cedarpy.is_authorized(requests[0], policies, none).allowed)
        return all(each.allowed for each in cedarpy.is_authorized_batch(requests, policies, none))

    return ask


def _request(resource: str, **context: str) -> dict[str, Any]:
    return {
        "principal": 'User::"agent"',
        "action": 'Action::"read"',
        "resource": resource,
        "context": context,
    }
