"""A first policy in ten minutes: docs/transcripts/first-policy.md."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.documentation.transcript import ROOT
from support.machines.journey import Journey
from support.projects.agent_project import annotations_of, compile_by_hand, rules
from support.services.registry import NEEDS_NPM, Packages, installed_package

MODULES = ROOT / "node_modules"
SERVER = "@modelcontextprotocol/server-filesystem"
SAID = """\
IronCurtain is installed, and nothing else is there: an empty home, no project, no model. The questions of the
compile are answered by hand; a chat would be given `questions/….md` and its answer put into the file."""


@NEEDS_NPM
@pytest.mark.skipif(not MODULES.is_dir(), reason="the servers are not installed (make demo)")
def test_a_first_policy(journey: Callable[..., Journey], packages: Packages) -> None:
    manifest, files = installed_package(SERVER, MODULES)
    packages.npm.publish(files=files, **manifest)
    you = journey("first-policy", "A first policy in ten minutes", SAID, **packages.environment)
    you.say("A project")
    you.type("ironcurtain init agent")
    you.go("agent")
    you.type("cat constitution.md")
    you.type("ironcurtain servers fetch")
    you.type("ironcurtain lint")
    you.say("A policy")
    printed = compile_by_hand(
        you, {"annotate-filesystem-1": annotations_of(you.here), "rules-filesystem": rules()}, shown=True
    )
    assert "published generated" in printed
    assert "verified" in you.type("ironcurtain verify")
    you.say("What it decides")
    you.type("ironcurtain matrix | head -n 16")
    for path, code, verdict in (
        ("~/Documents/letter.txt", 0, "ALLOW"),
        ("~/letter.txt", 4, "ESCALATE"),
        ("~/.ironcurtain/approvals.key", 1, "DENY"),
    ):
        call = f"""filesystem read_text_file '{{"path": "{path}"}}'"""
        printed = you.type(f"ironcurtain decide --bundle generated/bundle --sandbox ~/work {call}", code)
        assert f"{verdict}  filesystem/read_text_file" in printed
    you.transcript.check()
