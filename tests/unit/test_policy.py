"""The library as programs use it: its names, decisions that cannot be mistaken, the example of its page."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from support.projects.policies import rule, tool, write_bundle

import ironcurtain
from ironcurtain import Call, Decision, IronCurtainError, Policy, ResourceDecision, Verdict, errors
from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.model.scenarios import DescribedWorld

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "library.md"
UNCLOSED = """
import sys
from ironcurtain import Policy
policy = Policy.load(sys.argv[1], home=sys.argv[2])
policy.__enter__()
print(policy.decide("s", "look", {}).verdict)
"""


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(
        tmp_path, {"s": [tool("look"), tool("other")]}, [rule("look", "allow", tool=["look"])]
    )


@pytest.fixture
def policy(bundle: Path, tmp_path: Path) -> Any:
    with Policy.load(bundle, home=tmp_path) as loaded:
        yield loaded


def test_all_names_are_what_they_say() -> None:
    assert {name: getattr(ironcurtain, name) for name in ironcurtain.__all__} == {
        "Call": Call,
        "Decision": Decision,
        "IronCurtainError": IronCurtainError,
        "Policy": Policy,
        "ResourceDecision": ResourceDecision,
        "Verdict": Verdict,
        "errors": errors,
    }
    assert (resources.files(ironcurtain) / "py.typed").is_file()


def test_a_decision_says_whether_it_is_allowed_and_is_no_truth_value(policy: Policy) -> None:
    allowed, denied = policy.decide("s", "look", {}), policy.decide("s", "other", {})
    assert (allowed.allowed, denied.allowed) == (True, False)
    for decision in (allowed, denied):
        with pytest.raises(TypeError, match=r"use `decision\.allowed`"):
            bool(decision)


@pytest.mark.parametrize("given", [None, ("s", "look", {}), {"server": "s", "tool": "look"}, "look"])
def test_what_is_no_call_is_denied_among_calls(policy: Policy, given: Any) -> None:
    call = Call("s", "look", {})
    before, between, after = policy.decide_many([call, given, call])
    assert (before.verdict, after.verdict) == (Verdict.ALLOW, Verdict.ALLOW)
    assert (between.verdict, between.rule) == (Verdict.DENY, "structural-malformed-call")


@pytest.mark.timeout(120)
def test_another_policy_is_not_decided_by_the_engine_of_this_one(policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = write_bundle(tmp_path / "other", {"other": [tool("read", path=["read-path"])]}, [])
    elsewhere = load_described(open_bundle(other, Trust()), DescribedWorld())
    with pytest.raises(ValueError, match="another one than the engine's"):
        policy.decide_traced([], elsewhere)


def test_a_program_that_never_closes_its_policy_ends(bundle: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", UNCLOSED, str(bundle), str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "allow\n", "")


def test_the_example_of_the_page_runs() -> None:
    example = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)[0]
    command = [sys.executable, "-c", example]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=90)
    assert ran.returncode == 0, ran.stderr
    assert "default-deny" in ran.stdout or "escalate" in ran.stdout or "send" in ran.stdout
