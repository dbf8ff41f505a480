"""What is loaded before people's programs are answered: each library that a start does not need is a wait."""

from __future__ import annotations

import subprocess
import sys

import pytest
from e2e.program import environment

WEB = {"h11", "httpx2", "jwt", "sse_starlette", "starlette", "uvicorn"}
CHECKS = {"attrs", "jsonschema", "referencing"}
MODELS = {"anthropic", "google", "openai", "pydantic_ai"}
FEW = {"aiohttp", "jwt", "keyring", "opa_client", "redis", "requests", "ruamel"}
BEFORE = {
    # What is loaded before servers and engine are started, they wait for.
    "ironcurtain.enforcement.proxy.process": {"mcp", "mcp_types", *WEB, *CHECKS, *MODELS, *FEW},
    "ironcurtain.enforcement.proxy.started_servers": {"mcp", "mcp_types", *WEB, *CHECKS, *MODELS, *FEW},
    "ironcurtain.enforcement.facts.totals.store_place": {"sqlite3"},
    "ironcurtain.enforcement.proxy.serving": {*CHECKS, *MODELS, *FEW},
    "ironcurtain.policy": {"mcp", "mcp_types", *WEB, *CHECKS, *MODELS, *FEW},
    "ironcurtain.decision.on_this_machine": {"anyio", "mcp", "mcp_types", *WEB, *CHECKS, *MODELS, *FEW},
    "ironcurtain.enforcement.sandbox.launcher": {"mcp", "mcp_types", *WEB, *CHECKS, *MODELS, *FEW},
    # What is loaded before a tool list is read.
    "ironcurtain.servers.tool_lists.ahead": {"mcp", "mcp_types", *WEB, *CHECKS, *MODELS, *FEW},
    # What is loaded before OPA checks a bundle, and what a gate needs beside that.
    "ironcurtain.compiler.verify.rego_check": {"mcp", "mcp_types", *WEB, *CHECKS, *MODELS, *FEW},
    "ironcurtain.integrations.gate.reading": {"mcp", "mcp_types", *WEB, *MODELS, *FEW} - {"ruamel"},
}
OURS = {
    "ironcurtain.enforcement.proxy.process": {
        "ironcurtain.enforcement.audit.record_types",
        "ironcurtain.enforcement.proxy.serving",
        "ironcurtain.enforcement.proxy.started_servers",
        "ironcurtain.enforcement.sandbox",
        "ironcurtain.gateway",
    },
    "ironcurtain.enforcement.proxy.started_servers": {
        "ironcurtain.decision.decide",
        "ironcurtain.enforcement.approvals.messages",
        "ironcurtain.enforcement.audit.recorder",
        "ironcurtain.enforcement.proxy.serving",
        "ironcurtain.gateway",
    },
    "ironcurtain.enforcement.proxy.serving": {
        "ironcurtain.analysis.narrowing.narrowing",
        "ironcurtain.enforcement.proxy.transport.http",
        "ironcurtain.enforcement.proxy.transport.tokens",
    },
    "ironcurtain.compiler.verify.rego_check": {"ironcurtain.analysis", "ironcurtain.decision.decide"},
    "ironcurtain.integrations.gate.reading": {
        "ironcurtain.analysis.attack",
        "ironcurtain.analysis.diff.difference",
        "ironcurtain.analysis.explain.explain",
        "ironcurtain.analysis.mutation",
        "ironcurtain.compiler.llm",
        "ironcurtain.enforcement",
    },
}


def loaded(program: str) -> set[str]:
    code = f"{program}\nimport sys\nprint(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    return set(ended.stdout.split())


@pytest.mark.parametrize("module", BEFORE)
def test_what_is_loaded_with_a_module(module: str) -> None:
    found = loaded(f"import {module}")
    assert module in found
    assert not BEFORE[module] & {name.partition(".")[0] for name in found}
    assert not OURS.get(module, set()) & found


LATE = """
from ironcurtain.servers.sdk import load_sdk
from pydantic import BaseModel

load_sdk()


class Later(BaseModel):
    number: int


import mcp, mcp_types

assert Later.__pydantic_complete__
before = mcp_types.Tool.__pydantic_complete__, mcp_types.InitializeResult.__pydantic_complete__
tool = mcp_types.Tool.model_validate({"name": "t", "inputSchema": {"type": "object"}})
assert tool.model_dump(by_alias=True, exclude_none=True)["inputSchema"] == {"type": "object"}
try:
    mcp_types.Tool.model_validate({"name": 1, "inputSchema": {}})
except ValueError:
    print("checked", *before, mcp_types.Tool.__pydantic_complete__)
"""


def test_messages_of_the_sdk_are_checked_though_what_checks_them_is_built_late() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LATE], env=environment(), capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["checked", "False", "False", "True"]
