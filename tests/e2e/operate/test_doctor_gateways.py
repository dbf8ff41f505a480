"""What `ironcurtain doctor` says of a gateway: of its module, and of the files that serve is given."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from support.deployments.support_desk import PROGRAM, Desk

OPTIONS = (
    *("--permissions", "agent.json", "--tokens", "tokens.json"),
    *("--domain", "desk.signed.json", "--domain-key", "signing-key.pub.pem"),
)
NAMES = ("gateway/desk", "permissions", "tokens", "domain")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return the support desk, with everything that a deployment of it has."""
    made = Desk(tmp_path)
    key = ec.generate_private_key(ec.SECP256R1()).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    (made.root / "key.pem").write_bytes(key.public_bytes(serialization.Encoding.PEM, form))
    named = {"kid": "one", "algorithm": "ES256", "file": "key.pem"}
    tokens = {"format": "ironcurtain/tokens/v1", "keys": [named], "issuer": "https://id.example.com"}
    (made.root / "tokens.json").write_text(json.dumps({**tokens, "audience": "desk"}))
    told: dict[str, Any] = {"format": "ironcurtain/domain/v1", "domain": "desk-eu", "gateway": "desk"}
    told |= {"tools": ["get_ticket"], "permissions": ["tickets:read"], "sub": "eu-agent"}
    (made.root / "desk.json").write_text(json.dumps(told))
    made.run("key", "new", "-o", "signing-key.pem")
    made.run("key", "sign-domain", "desk.json", "--key", "signing-key.pem", "-o", "desk.signed.json")
    return made


def told(desk: Desk, code: int) -> dict[str, list[tuple[str, str]]]:
    """Return by check what doctor says of a gateway's parts, each with its status."""
    arguments = ("doctor", "--format", "json", "--bundle", "bundle", "--servers", "mcp-servers.json")
    ended = subprocess.run(
        [sys.executable, *PROGRAM, *arguments, *OPTIONS],
        cwd=desk.root,
        env=desk.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    checks = json.loads(ended.stdout)["checks"]
    return {
        name: [(each["status"], each["what"]) for each in checks if each["name"] == name]
        for name in (*NAMES, "servers/desk", "drift")
    }


def test_everything_that_a_gateway_is_served_with_is_in_order(desk: Desk) -> None:
    found = told(desk, 0)
    assert {name: [status for status, _ in said] for name, said in found.items()} == {
        name: ["ok"] for name in (*NAMES, "servers/desk", "drift")
    }
    assert found["gateway/desk"][0][1] == "its module is read, and 6 tools are declared well"
    assert found["servers/desk"][0][1] == "declares 6 tools"
    assert "desk-eu is signed by the key" in found["domain"][0][1]


def test_what_is_wrong_with_a_gateway_is_named_part_by_part(desk: Desk) -> None:
    desk.permit("tickets:raed")
    (desk.root / "key.pem").chmod(0o666)
    signed = (desk.root / "desk.signed.json").read_text()
    (desk.root / "desk.signed.json").write_text(signed.replace("eu-agent", "us-agent"))
    found = told(desk, 1)
    assert [status for status, _ in found["permissions"]] == ["fail"]
    assert "tickets:raed" in found["permissions"][0][1]
    assert found["tokens"][0][0] == "fail"
    assert "key.pem" in found["tokens"][0][1]
    assert found["domain"][0][0] == "fail"
    assert "signature" in found["domain"][0][1]


def test_a_module_with_mistakes_fails_with_file_and_line(desk: Desk) -> None:
    text = (desk.root / "tools.py").read_text().replace('name="get_ticket"', 'name="GetTicket"')
    (desk.root / "tools.py").write_text(text)
    found = told(desk, 1)
    assert found["gateway/desk"][0][0] == "fail"
    assert "not snake_case" in found["gateway/desk"][0][1]
    assert "tools.py:" in found["gateway/desk"][0][1]


def test_settings_of_tokens_without_an_audience_are_to_look_at(desk: Desk) -> None:
    tokens = json.loads((desk.root / "tokens.json").read_text())
    del tokens["audience"]
    (desk.root / "tokens.json").write_text(json.dumps(tokens))
    assert told(desk, 0)["tokens"] == [
        ("ok", "tokens of 1 key count"),
        ("warn", "tokens of any audience count: tokens.json names none"),
    ]
