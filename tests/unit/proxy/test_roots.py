from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ironcurtain.bundle.content import RuleText
from ironcurtain.canonical.disk import DiskWorld
from ironcurtain.canonical.paths import Resolver
from ironcurtain.proxy.roots import policy_roots


def rule(order: int, then: str, **conditions: Any) -> RuleText:
    document = {
        "order": order,
        "clause": "C1",
        "then": then,
        "reason": "r",
        "description": "",
        "if": conditions,
    }
    return RuleText.model_validate_json(json.dumps(document))


def within(*directories: str) -> dict[str, Any]:
    return {"roles": ["read-path"], "within": list(directories)}


def test_the_sandbox_first_then_what_rules_may_permit_each_real_directory_once(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    (home / "real").mkdir()
    (home / "link").symlink_to("real")
    rules = {
        "b": rule(2, "escalate", paths=within("~/real", "/srv")),
        "a": rule(1, "allow", paths=within("~/link")),
        "denied": rule(3, "deny", paths=within("~/secret")),
        "other": rule(4, "allow", server=["other"], paths=within("~/other")),
        "pathless": rule(5, "allow", tool=["t"]),
    }
    resolver = Resolver(DiskWorld(home=str(home)), home=str(home))
    found = policy_roots(rules, "s", f"{home}/box", resolver)
    assert [str(root.uri) for root in found.roots] == [
        f"file://{home}/box",
        f"file://{home}/real",
        "file:///srv",
    ]
