"""A deployment is given another domain's tools, or a configuration that nobody signed for it.

Held by: the signature is over exactly what the file says, of a type of its own; what a domain does not name
does not exist in its gateway; a token's permissions end where the domain's do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import jwt
import pytest
from mcp import Client
from support.deployments.support_desk import Desk, text_of

from ironcurtain.bundle.domain import Domain, open_domain, sign_domain
from ironcurtain.bundle.signing.keys import PrivateKey, new_key
from ironcurtain.errors import BundleSignatureError, FormatError, GatewayError, SeveralErrors
from ironcurtain.gateway.gateway import load_gateway
from ironcurtain.gateway.principal import Principal
from ironcurtain.system import json_text

DOMAIN = {
    "format": "ironcurtain/domain/v1",
    "domain": "desk-eu",
    "gateway": "desk",
    "tools": ["get_ticket"],
    "permissions": ["tickets:read"],
    "sub": "eu-agent",
}


@pytest.fixture
def key(tmp_path: Path) -> PrivateKey:
    return new_key(tmp_path / "key.pem", "ES256")


def domain_of(**more: Any) -> Domain:
    return Domain.model_validate_json(json.dumps({**DOMAIN, **more}))


def test_a_changed_configuration_is_refused(tmp_path: Path, key: PrivateKey) -> None:
    file = tmp_path / "signed.json"
    file.write_bytes(sign_domain(domain_of(), key))
    assert open_domain(file, key.public) == domain_of()
    told = json.loads(file.read_text())
    for name, value in (("tools", ["delete_customer"]), ("sub", "root"), ("allow_destructive", True)):
        file.write_text(json.dumps({**told, "domain": {**told["domain"], name: value}}))
        with pytest.raises(BundleSignatureError, match="something else"):
            open_domain(file, key.public)


def test_a_configuration_of_another_key_is_refused(tmp_path: Path, key: PrivateKey) -> None:
    file = tmp_path / "signed.json"
    file.write_bytes(sign_domain(domain_of(), new_key(tmp_path / "other.pem", "ES256")))
    with pytest.raises(BundleSignatureError, match="not of the key"):
        open_domain(file, key.public)


def test_a_configuration_that_nobody_signed_is_told_as_that(tmp_path: Path, key: PrivateKey) -> None:
    file = tmp_path / "desk-eu.json"
    file.write_text(json.dumps(DOMAIN))
    with pytest.raises(FormatError, match="is not signed") as told:
        open_domain(file, key.public)
    assert "ironcurtain key sign-domain desk-eu.json" in told.value.hint


def test_another_signature_of_the_same_key_is_no_configuration(tmp_path: Path, key: PrivateKey) -> None:
    file = tmp_path / "signed.json"
    told = json.loads(sign_domain(domain_of(), key))
    content = json_text.canonical(told["domain"])
    told["signature"] = jwt.PyJWS().encode(content, key.key, "ES256")
    file.write_text(json.dumps(told))
    with pytest.raises(BundleSignatureError, match="something else"):
        open_domain(file, key.public)


def test_a_domain_that_names_what_does_not_exist_is_refused_with_all_of_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    gateways = {"desk": load_gateway(desk.root / "tools.py")}
    with pytest.raises(SeveralErrors) as told:
        domain_of(tools=["get_ticket", "get_invoice"], permissions=["billing:read"]).of(gateways, "f")
    assert ["get_invoice" in told.value.errors[0].what, "billing:read" in told.value.errors[1].what] == [
        True,
        True,
    ]
    with pytest.raises(GatewayError, match="gateway"):
        domain_of(gateway="billing").of(gateways, "f")


def test_a_token_has_no_more_than_its_domain() -> None:
    wide = Principal("ada", frozenset({"tickets:read", "customers:delete"}), allow_destructive=True)
    limited = domain_of(sub=None).limited(wide)
    assert limited == Principal("ada", frozenset({"tickets:read"}), allow_destructive=False)


def test_the_gateway_of_one_domain_has_no_tool_of_another(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    private = new_key(desk.home / "domain.pem", "ES256")
    (desk.root / "domain.pub.pem").write_text(private.public.pem)
    (desk.root / "domain.json").write_text(json.dumps(DOMAIN))
    desk.run("key", "sign-domain", "domain.json", "-o", "signed.json", "--key", str(desk.home / "domain.pem"))

    async def story() -> tuple[list[str], list[str]]:
        parameters = desk.parameters("--domain", "signed.json", "--domain-key", "domain.pub.pem")
        at = parameters.args.index("--permissions")
        del parameters.args[at : at + 2]
        async with Client(parameters, mode="legacy") as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            found = await client.call_tool("desk__get_ticket", {"ticket": "SUP-1"})
            assert not found.is_error
            others = [
                await client.call_tool(f"desk__{name}", {"id": 1}) for name in ("get_customer", "nothing")
            ]
            return listed, [text_of(each).split("Decision:")[0] for each in others]

    listed, told = anyio.run(story)
    assert listed == ["desk__get_ticket"]
    assert len(set(told)) == 1
    stages = [(r["gateway"]["caller"], r["gateway"]["stage"]) for r in desk.decisions()]
    assert stages == [("eu-agent", None), ("eu-agent", "REGISTRY"), ("eu-agent", "REGISTRY")]
