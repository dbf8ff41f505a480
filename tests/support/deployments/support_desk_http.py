"""The support desk over HTTP, for clients that show signed tokens."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support.deployments.proxied import LONG
from support.deployments.support_desk import PROGRAM, Desk

FIRST, SECOND = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())


def settle(desk: Desk, **keys: Any) -> None:
    """Write the settings of tokens, with these keys."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    for kid, key in keys.items():
        text = key.public_key().public_bytes(serialization.Encoding.PEM, form)
        (desk.root / f"{kid}.pem").write_bytes(text)
    told = [{"kid": kid, "algorithm": "ES256", "file": f"{kid}.pem"} for kid in keys]
    settings = {"format": "ironcurtain/tokens/v1", "keys": told, "audience": "desk"}
    (desk.root / "tokens.json").write_text(json.dumps(settings))


def token(key: Any, kid: str, sub: str, *permissions: str) -> str:
    claims = {"sub": sub, "permissions": permissions, "aud": "desk", "exp": time.time() + 600}
    return jwt.encode(claims, key, "ES256", headers={"kid": kid})


@contextmanager
def listening(desk: Desk) -> Iterator[str]:
    served = ["serve", "tools.py", "--bundle", "bundle", "--tokens", "tokens.json", "--session", "desk"]
    process = subprocess.Popen(
        [sys.executable, *PROGRAM, *served, "--no-approver", "--http", "127.0.0.1:0"],
        cwd=desk.root,
        env=desk.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        yield next(line.split()[-1] for line in process.stderr if "listening on" in line)
    finally:
        process.terminate()
        process.communicate(timeout=120)


def status_of(url: str, **headers: str) -> int:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"accept": "application/json, text/event-stream"}
    return httpx2.post(
        url, json=message, headers={**accept, **headers}, timeout=LONG, trust_env=False
    ).status_code


def began(url: str, shown: str) -> str:
    """Begin a session with a token; return its id."""
    told = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {shown}"}
    found: str = httpx2.post(url, json=told, headers=headers, timeout=LONG, trust_env=False).headers[
        "mcp-session-id"
    ]
    return found
