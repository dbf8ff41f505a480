from __future__ import annotations

import json

import mcp_types as types
import pytest

from ironcurtain.enforcement.proxy.forwarding import server_requests


@pytest.mark.parametrize(
    ("uri", "arguments"),
    [
        ("file:///a/b%20c", {"uri": "/a/b c", "scheme": "file"}),
        ("FILE:///a", {"uri": "/a", "scheme": "file"}),
        ("file://localhost/a", {"uri": "/a", "scheme": "file"}),
        # What names no path of this machine stays a URI, which is no path: it is refused.
        ("file://elsewhere/a", {"uri": "file://elsewhere/a", "scheme": "file"}),
        ("file:a", {"uri": "file:a", "scheme": "file"}),
        ("file:///a?b", {"uri": "file:///a?b", "scheme": "file"}),
        ("https://x.org/a", {"uri": "https://x.org/a", "scheme": "web"}),
        ("HTTP://x.org/a", {"uri": "HTTP://x.org/a", "scheme": "web"}),
        ("note://1", {"uri": "note://1", "scheme": "other"}),
        ("no uri at all", {"uri": "no uri at all", "scheme": "other"}),
    ],
)
def test_a_resource_is_judged_by_what_its_uri_names(uri: str, arguments: dict[str, str]) -> None:
    assert server_requests.read_resource("s", uri).arguments == arguments


def test_what_was_judged_is_what_is_sent() -> None:
    assert server_requests.resource_uri({"uri": "/a/b c%", "scheme": "file"}) == "file:///a/b%20c%25"
    assert server_requests.resource_uri({"uri": "note://1", "scheme": "other"}) == "note://1"


def test_a_person_sees_which_server_asks() -> None:
    asked = types.ElicitRequest(
        params=types.ElicitRequestFormParams(message="Password?", requested_schema={"type": "object"})
    )
    call = server_requests.asked_of_client("bank", asked)
    assert call.tool == "mcp/elicitation"
    again = server_requests.question_of(call, json.loads(json.dumps(call.arguments)))
    assert isinstance(again, types.ElicitRequest)
    assert again.params.message == "[bank] Password?"


def test_what_belongs_to_the_protocol_is_left_out_of_what_a_server_asks() -> None:
    meta = {"example.org/form": {"wide": True}, "progressToken": 5, "io.modelcontextprotocol/x": "y"}
    params = {"message": "?", "requestedSchema": {"type": "object"}, "_meta": meta}
    asked = types.ElicitRequest(params=types.ElicitRequestFormParams.model_validate(params))
    call = server_requests.asked_of_client("bank", asked)
    assert call.meta == {"example.org/form": {"wide": True}}
    again = server_requests.question_of(call, json.loads(json.dumps(call.arguments)))
    assert again.params.meta == call.meta
