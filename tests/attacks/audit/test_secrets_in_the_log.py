"""Secrets of many kinds go through a real proxy as arguments: none of them may stand in its log in clear.

Held by: one list of names and forms, the rules of a secret scanner among them, on every string that is
logged.
"""

from __future__ import annotations

import json
import random
import re
import string

import pytest
from mcp import Client
from support.deployments.proxied import Place, visit_all
from support.records.audited import KEY

from ironcurtain.enforcement.audit.redaction import Redaction

pytestmark = pytest.mark.timeout(600)

_DRAW = random.Random(15)


def _any(count: int, letters: str = string.ascii_letters + string.digits) -> str:
    return "".join(_DRAW.choices(letters, k=count))


_HEX = string.digits + "abcdef"
_BODY = "\n".join(_any(64) for _ in range(3))


def _key(kind: str, head: str = "") -> str:
    return f"-----BEGIN {kind}-----\n{head}{_BODY}\n-----END {kind}-----"


SECRETS: dict[str, str] = {
    "a PGP key": _key("PGP PRIVATE KEY BLOCK", "Version: 1\n\n"),
    "an encrypted key": _key("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,A1B2\n\n"),
    "an encrypted PKCS#8 key": _key("ENCRYPTED PRIVATE KEY"),
    "a key that does not end": f"-----BEGIN EC PRIVATE KEY-----\nDEK-Info: A-B\n{_BODY}",
    "a PuTTY key": f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n{_BODY}",
    "a token after _": f"DEPLOY_ghp_{_any(36)}",
    "a key after _": f"MY_sk-{_any(40)}",
    "SendGrid": f"SG.{_any(22)}.{_any(43)}",
    "Vault": f"hvs.{_any(95)}",
    "an older Vault": f"s.{_any(24)}",
    "DigitalOcean": f"dop_v1_{_any(64, _HEX)}",
    "Slack, of an app": f"xapp-1-A{_any(10, string.digits)}-{_any(13, string.digits)}-{_any(64, _HEX)}",
    "Slack, a webhook": f"https://hooks.slack.com/services/T{_any(8)}/B{_any(8)}/{_any(26)}",
    "Stripe": f"rk_prod_{_any(30)}",
    "Shopify": f"shpat_{_any(32, _HEX)}",
    "Hugging Face": f"hf_{_any(34, string.ascii_letters)}",
    "GitLab, of a runner": f"glrt-{_any(20)}",
    "Grafana": f"glsa_{_any(32)}_{_any(8, _HEX)}",
    "Databricks": f"dapi{_any(32, _HEX)}",
    "age": f"AGE-SECRET-KEY-1{_any(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}",
    "a password after a colon": f"password: {_any(9)}",
    "a password in JSON": json.dumps({"password": _any(9)}),
    "a password with blanks": f'passphrase: "{_any(8)} {_any(9)} {_any(12)}"',
    "a password in YAML": f"db_password:   {_any(19)}",
    "an API key by name": f"X-Api-Key: {_any(12)}",
    "credentials in an address": f"https://user:{_any(19)}@example.org/x",
    "Basic": f"Authorization: Basic {_any(24)}",
    "a password after a flag": f"mysql --password {_any(12)} shop",
    "a user's password": f"curl -u me:{_any(12)} https://example.org",
    "a password in a string in a string": f'{{\\"password\\":\\"{_any(19)}\\"}}',
    "a setting": f"SECRET_KEY={_any(19)}",
    "netrc": f"machine example.org\n  login me\n  password {_any(19)}",
    "a cookie": f"Cookie: theme=dark; sid={_any(19)}",
    "Google OAuth": f"ya29.a0{_any(100)}",
    "Stripe, of a webhook": f"whsec_{_any(32)}",
    "Groq": f"gsk_{_any(52)}",
    "xAI": f"xai-{_any(80)}",
    "Figma": f"figd_{_any(40)}",
    "Discord": f"M{_any(23)}.{_any(6)}.{_any(38)}",
    "Telegram": f"{_any(10, string.digits)}:AA{_any(33)}",
    "a card with dots": "4111.1111.1111.1111",
    "a card with hard spaces": "4111\u00a01111\u00a01111\u00a01111",
    "a card with narrow spaces": "4111\u202f1111\u202f1111\u202f1111",
    "a card with hard hyphens": "4111\u20111111\u20111111\u20111111",
    "another card with dots": "3782.822463.10005",
}
NAMED = {
    "password": _any(9),
    "authorization": _any(12),
    "cookie": _any(12),
    "secret_key": _any(12),
    "account_key": _any(12),
    "jwt": _any(12),
    "command": ["tool", "--password", _any(12)],
    "headers": [{"name": "X-Api-Key", "value": _any(12)}],
    "cookies": [{"name": "sid", "value": _any(12)}],
    "db": {"apiKey": _any(12), "client_secret": [_any(10)], "refresh-token": 271828182845},
}
OTHERWISE = {"passwords": 4096, "max_tokens": 4096, "pin": "4096", "token": "abc", "secret": True}
PLAIN = [
    "s.ignoreFetchAbort",
    "this.getElementsByClassNameAnd()",
    "192.168.100.200",
    "0.4111111111111112",
    "1.2.3.4.5.6.7",
    "https://example.org:8080/a@b",
    "the token of the session",
    "secrets are kept elsewhere",
    "a password is asked for",
    "commit 2f1c6d6f9a3b4c5d6e7f8091a2b3c4d5e6f70812",
    "sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
    "shipping-token-list",
    "git push -u origin HEAD:main",
    "docker run -u 1000:1000 alpine",
    "PASSWORD=${PASSWORD}",
    "--token is required",
]


def _kernel(secret: str) -> str:
    """Return the part of a secret that must not be seen: its longest word."""
    return max(re.split(r'[ \n":@/]+', secret), key=len)


async def _sent(client: Client, place: Place) -> None:
    for name, secret in SECRETS.items():
        for text in (secret, f"see {secret} here", f"({secret}),"):
            await client.call_tool("fix__echo", {"text": text, "data": {"deep": [secret]}})
        assert len(place.decisions[-1]["redacted"]) == 2, name
    await client.call_tool("fix__echo", {"text": "plain", "data": {**NAMED, **OTHERWISE}})
    record = place.decisions[-1]
    assert len(record["redacted"]) == 12
    assert record["arguments"]["data"].items() >= OTHERWISE.items()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = Place(tmp_path_factory.mktemp("secrets").resolve())
    for error in visit_all(place, {"sent": _sent}, up=["fix"]).values():
        raise error
    return (place.home / ".ironcurtain" / "audit" / "test.jsonl").read_text()


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_in_the_log(log: str, name: str) -> None:
    shown = json.dumps(_kernel(SECRETS[name]), ensure_ascii=False).strip('"')
    assert len(shown) > 7
    assert shown not in log


@pytest.mark.parametrize("value", re.findall(r"\w{9,}(?=\W*[,\]}])", json.dumps(NAMED)))
def test_a_value_under_the_name_of_a_secret(log: str, value: str) -> None:
    assert value not in log


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redaction(KEY).text(text) == text
