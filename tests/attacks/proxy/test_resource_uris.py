"""A resource is read under a URI that is no file's to the policy, and a file's to the server.

Held by: a URI is read as servers of the official SDKs read it, by the WHATWG algorithm, or refused.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from support.deployments.faulty import OWN
from support.deployments.open_place import OpenPlace, node, script
from support.deployments.proxied import RESERVED_TOOLS, visit_all, written_lines
from support.projects.policies import rule, write_bundle

from ironcurtain.decision.reserved_tools import RESOURCE_URI

SERVER = Path(__file__).parents[2] / "fixtures" / "uri_server.mjs"
SDK = script("@modelcontextprotocol/sdk", "package.json")
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(node(18) is None or not SDK.is_file(), reason="the TypeScript SDK is not installed"),
]
TYPED = ["resource-uri", "read-path"]


def spellings(path: str) -> list[str]:
    """Return URIs that a program reads as the one of a file."""
    escaped = "".join(f"%{byte:02x}" if byte not in b"/" else "/" for byte in path.encode())
    return [
        *(f" file://{path}", f"\u00a0file://{path}", f"\ufefffile://{path}", f"\x01file://{path}"),
        *(
            f"\tfile://{path}",
            f"\nfile://{path}",
            f"file://{path} ",
            f"file://{path}\n",
            f"\u200bfile://{path}",
        ),
        *(f"fi\tle://{path}", f"file\n://{path}", f"file:\r//{path}", f"FILE://{path}", f"FiLe:{path}"),
        *(
            f"file:{path}",
            f"file:{path[1:]}",
            f"file://localhost{path}",
            f"file:////{path}",
            f"file:\\{path}",
        ),
        *(
            f"file:\\{path}",
            f"file:\\\\\\{path[1:]}",
            "file:///" + path[1:].replace("/", "\\"),
            f"file://{escaped}",
        ),
        *(f"file:///x/..{path}", f"file:///x/%2e%2e{path}", f"file://{path}?x", f"file://{path}#x"),
        *(f"file://{path}%20", f"file://{path}%0a", f"file://{path.replace('/', '%2f')}", f"ﬁle://{path}"),
    ]


async def _audit_key(client: Client, place: OpenPlace) -> None:
    key = str(place.home / OWN / "audit.key")
    for uri in [f"file://{key}", *spellings(key)]:
        with pytest.raises(MCPError):
            await client.read_resource(uri)


async def _denied_note(client: Client, _place: OpenPlace) -> None:
    assert (await client.read_resource("note://open")).contents[0].text == "note open"  # type: ignore[union-attr]
    for name in (
        "secret",
        " secret",
        "secret ",
        "secret%20",
        "%73ecret",
        "secret\u00a0",
        "se\tcret",
        "secret/../secret",
    ):
        for scheme in ("note", "NOTE", " note", "no\tte"):
            with pytest.raises(MCPError):
                await client.read_resource(f"{scheme}://{name}")


async def _other_files(client: Client, place: OpenPlace) -> None:
    """Whatever spelling of a permitted file comes through, the server is sent the one that was judged."""
    path = place.home / "plain"
    path.write_text("plain")
    for uri in [f"file://{path}", *spellings(str(path))]:
        try:
            read = await client.read_resource(uri)
        except MCPError:
            continue
        assert read.contents[0].text == "plain"  # type: ignore[union-attr]
    with pytest.raises(MCPError, match="subscribe"):
        await client.session.subscribe_resource(f"file://localhost{path}")


def test_the_audit_key_through_a_resource(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    program = node(18)
    assert program is not None
    server = {"command": program, "args": [str(SERVER)], "env": {"FIXTURE_JOURNAL": str(journal)}}
    place = OpenPlace(tmp_path.resolve() / "place", {"uris": server}, {"uris": []})
    rules = [
        rule("not-the-secret", "deny", lists={"roles": ["resource-uri"], "allowed": ["note://secret"]}),
        rule("whatever-is-read", "allow", roles=TYPED),
    ]
    place.bundle = write_bundle(
        place.root, {"uris": RESERVED_TOOLS}, rules, roles=[RESOURCE_URI.model_dump(mode="json")]
    )
    visits = {"key": _audit_key, "note": _denied_note, "files": _other_files}
    for error in visit_all(place, visits, up=["uris"]).values():
        raise error
    asked = {json.loads(line) for line in written_lines(journal)}
    assert asked == {"note://open", f"file://{place.home}/plain"}
