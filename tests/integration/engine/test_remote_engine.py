"""The remote engine: real OPAs that others run, and nodes that are no such thing."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from integration.engine.test_engine import COUNT, REVISION, archive, ask
from support.machines.frozen import freeze
from support.services.bundle_server import bundle_server
from support.services.nodes import answer, certificate, free_port, opa_node, pretender
from support.services.plain_opa import PlainOpa

from ironcurtain.engine.answer import EngineAnswerError
from ironcurtain.engine.client import NodeClient
from ironcurtain.engine.remote import RemoteEngine, RemoteLimits
from ironcurtain.engine.remote_nodes import Nodes
from ironcurtain.errors import EngineFailedError, FileError, UsageError

pytestmark = pytest.mark.anyio
OTHER = "sha256:" + "b" * 64
ROOT = Path(__file__).parents[3]
# A slow machine is no node that hangs; where one hangs for good, nobody waits for more than the second.
PATIENT = RemoteLimits(query=60.0, connect=60.0, decision=120.0)
QUICK = RemoteLimits(query=1.5, connect=1.0, decision=2.0)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "bundle.tar.gz"
    path.write_bytes(archive())
    return path


@pytest.fixture(scope="module")
def node(bundle: Path) -> Iterator[tuple[str, PlainOpa]]:
    with opa_node(bundle) as found:
        yield found


def engine(
    *urls: str,
    revision: str = REVISION,
    wait: float = 0.0,
    limits: RemoteLimits = PATIENT,
    **trust: Any,
) -> RemoteEngine:
    nodes = Nodes.of(urls, **trust)
    assert nodes is not None
    return RemoteEngine(nodes, revision, wait=wait, limits=limits)


async def rule_of(asked: RemoteEngine, policy_input: bytes = COUNT) -> str:
    with pytest.raises(EngineAnswerError) as caught:
        await asked.query(policy_input)
    return caught.value.rule


async def test_a_node_decides(node: tuple[str, PlainOpa]) -> None:
    async with engine(node[0]) as asked:
        answered = await asked.query(COUNT)
    assert (answered.result, answered.revision) == ({"verdict": "deny", "count": 2, "name": "x"}, REVISION)
    assert await rule_of(asked) == "engine-dead"


async def test_what_is_no_decision_has_the_rules_of_the_embedded_engine(node: tuple[str, PlainOpa]) -> None:
    async with engine(node[0]) as asked:
        assert await rule_of(asked, ask("unknown")) == "engine-undefined"
        assert await rule_of(asked, ask("text")) == "engine-malformed"
        assert await rule_of(asked, ask("divide", n=1, d=0)) == "engine-status"
        assert await rule_of(asked, ask("conflict")) == "engine-status"
        assert (await asked.query(COUNT)).result["count"] == 2


async def test_two_hundred_queries_side_by_side_keep_their_answers(node: tuple[str, PlainOpa]) -> None:
    async with engine(node[0], node[0].replace("127.0.0.1", "localhost")) as asked:
        inputs = [ask("count", items=list(range(n)), name=f"n{n}") for n in range(200)]
        answers = await asyncio.gather(*(asked.query(policy_input) for policy_input in inputs))
    assert [(a.result["count"], a.result["name"]) for a in answers] == [(n, f"n{n}") for n in range(200)]


FORGED = {"verdict": "allow"}
PRETENDERS = {
    "another-revision": ((200, answer(OTHER, FORGED)), "engine-revision"),
    "no-revision": ((200, json.dumps({"result": FORGED}).encode()), "engine-revision"),
    "a-revision-that-is-no-text": ((200, answer([REVISION], FORGED)), "engine-revision"),
    "another-bundle": ((200, answer(REVISION, FORGED, "elsewhere")), "engine-revision"),
    "the-name-of-the-embedded-bundle": ((200, answer(REVISION, FORGED, "policy.tar.gz")), "engine-revision"),
    "no-json": ((200, b"<html>"), "engine-malformed"),
    "no-object": ((200, b"[1]"), "engine-malformed"),
    "no-decision-object": ((200, answer(REVISION, True)), "engine-malformed"),
    "created": ((201, answer(REVISION, FORGED)), "engine-status"),
    "unauthorised": ((401, b"{}"), "engine-status"),
    "overloaded": ((503, b""), "engine-status"),
    "hanging": ((None, b""), "engine-no-node"),
}


@pytest.mark.parametrize("name", PRETENDERS)
async def test_a_node_that_does_not_decide(name: str, node: tuple[str, PlainOpa]) -> None:
    (status, body), rule = PRETENDERS[name]
    with pretender(200, answer(REVISION, {})) as bad:
        limits = QUICK if name == "hanging" else PATIENT
        async with engine(bad.url, limits=limits) as alone, engine(bad.url, node[0], limits=limits) as beside:
            bad.status, bad.body = status, body
            assert await rule_of(alone) == rule
            answers = [await beside.query(COUNT) for _ in range(4)]
    assert [each.result["count"] for each in answers] == [2] * 4


async def test_a_redirect_is_not_followed(node: tuple[str, PlainOpa]) -> None:
    with pretender(200, answer(REVISION, {})) as bad:
        async with engine(bad.url) as asked:
            bad.status, bad.headers = 307, {"Location": f"{node[0]}/v1/data/ironcurtain/decision/decision"}
            assert await rule_of(asked) == "engine-status"


async def test_an_undefined_decision_of_the_right_revision_is_asked_of_no_other_node() -> None:
    undefined = json.dumps({"provenance": {"bundles": {"ironcurtain": {"revision": REVISION}}}}).encode()
    with pretender(200, undefined) as one, pretender(200, undefined) as other:
        async with engine(one.url, other.url) as asked:
            before = len(one.asked) + len(other.asked)
            assert await rule_of(asked) == "engine-undefined"
            assert len(one.asked) + len(other.asked) == before + 1


async def test_a_decision_is_asked_of_one_node_and_all_get_their_share() -> None:
    with pretender(200, answer(REVISION, {})) as one, pretender(200, answer(REVISION, {})) as other:
        async with engine(one.url, other.url) as asked:
            for held in (one, other):
                held.asked.clear()
            for _ in range(10):
                await asked.query(COUNT)
    assert (len(one.asked), len(other.asked)) == (5, 5)
    assert {content for content, _ in one.asked} == {b'{"input":' + COUNT + b"}"}


async def test_a_node_that_failed_is_left_alone_for_a_while_but_not_given_up() -> None:
    with pretender(200, answer(REVISION, {})) as one, pretender(200, answer(REVISION, {})) as other:
        async with engine(one.url, other.url) as asked:
            other.body = answer(OTHER, {})
            for _ in range(4):
                await asked.query(COUNT)
            other.asked.clear()
            for _ in range(4):
                await asked.query(COUNT)
            assert len(other.asked) <= 1
            one.body, other.body = answer(OTHER, {}), answer(REVISION, {})
            assert (await asked.query(COUNT)).revision == REVISION


async def test_nodes_that_differ_in_why_they_do_not_decide() -> None:
    with pretender(200, answer(REVISION, {})) as one, pretender(200, answer(REVISION, {})) as other:
        async with engine(one.url, other.url) as asked:
            one.status, other.body = 500, answer(OTHER, {})
            with pytest.raises(EngineAnswerError) as caught:
                await asked.query(COUNT)
    assert caught.value.rule == "engine-no-node"
    assert all(url in caught.value.reason for url in (one.url, other.url))


async def test_a_node_that_is_stopped_costs_one_timeout_and_then_nothing(bundle: Path) -> None:
    with opa_node(bundle) as (good, _), opa_node(bundle) as (bad, opa):
        async with engine(bad, good, limits=RemoteLimits(query=5.0, connect=60.0, decision=120.0)) as asked:
            freeze(opa.process.pid)
            try:
                answers = [await asked.query(COUNT) for _ in range(20)]
            finally:
                os.kill(opa.process.pid, signal.SIGCONT)
    assert [each.result["count"] for each in answers] == [2] * 20


# -- the start -----------------------------------------------------------------------------------


async def test_a_start_without_nodes_names_each_reason(node: tuple[str, PlainOpa]) -> None:
    gone = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(EngineFailedError) as caught:
        async with engine(gone, node[0], revision=OTHER):
            pass
    text = caught.value.what
    assert f"{gone}: the engine cannot be reached (ClientConnectorError)" in text
    assert f'{node[0]}: the engine answered from revision "{REVISION}", not "{OTHER}"' in text
    assert "Publish" in str(caught.value.hint)


async def test_one_node_is_enough(node: tuple[str, PlainOpa]) -> None:
    gone = f"http://127.0.0.1:{free_port()}"
    async with engine(gone, node[0]) as asked:
        answers = [await asked.query(COUNT) for _ in range(3)]
    assert [each.result["count"] for each in answers] == [2] * 3


async def test_a_start_waits_for_a_node_that_is_behind() -> None:
    with bundle_server() as held, ExitStack() as stack:
        held.content = archive(revision=OTHER)
        url, _ = stack.enter_context(opa_node(held))
        held.content = archive()
        async with engine(url, wait=60) as asked:
            assert (await asked.query(COUNT)).revision == REVISION


async def test_a_start_waits_for_a_node_that_cannot_be_reached_yet() -> None:
    asked = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"\r\n\r\n")
        if asked > 2:
            body = answer(REVISION, {})
            writer.write(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(EngineFailedError, match="cannot be reached"):
            async with engine(url):
                pass
        async with engine(url, wait=60) as found:
            assert (await found.query(COUNT)).revision == REVISION
    assert asked > 3


async def test_a_node_that_takes_no_connection_is_told_from_one_that_does_not_answer() -> None:
    with socket.socket() as full, socket.socket() as first, pretender(200, answer(REVISION, {})) as hanging:
        full.bind(("127.0.0.1", 0))
        full.listen(0)  # one may wait to be accepted, and nobody else gets in
        first.connect(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        hanging.status = None
        nodes = Nodes((url, hanging.url))
        with pytest.raises(EngineFailedError) as caught:
            async with RemoteEngine(nodes, REVISION, limits=RemoteLimits(query=2.0, connect=0.5)):
                pass
    assert f"{url}: the engine could not be connected to within 0.5 s" in caught.value.what
    assert f"{hanging.url}: the engine did not answer within 2 s" in caught.value.what


async def test_a_client_that_was_closed_says_so(node: tuple[str, PlainOpa]) -> None:
    client = NodeClient(node[0], None, Nodes((node[0],)).tls(), timeout=60, connect=60)
    async with client:
        assert (await client.decide(COUNT))[0] == 200
    with pytest.raises(EngineAnswerError) as caught:
        await client.decide(COUNT)
    assert caught.value.rule == "engine-dead"


# -- who may decide ------------------------------------------------------------------------------


async def test_certificates(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    public, private = certificate(tmp_path)
    files = ("--tls-cert-file", str(public), "--tls-private-key-file", str(private))
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    with opa_node(bundle, *files, scheme="https") as (url, _):
        async with engine(url, ca=public) as asked:
            assert (await asked.query(COUNT)).result["count"] == 2
        refused = {"system": (url, None), "name": (url.replace("127.0.0.1", "localhost"), public)}
        for address, ca in refused.values():
            with pytest.raises(EngineFailedError, match="certificate is not trusted"):
                async with engine(address, ca=ca):
                    pass


async def test_the_token_of_a_file_opens_the_door(bundle: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("right\n")
    digest = tmp_path / "digest.json"
    digest.write_text(
        json.dumps({"system": {"engine": {"token_sha256": hashlib.sha256(b"right").hexdigest()}}})
    )
    guard = (
        "--authentication",
        "token",
        "--authorization",
        "basic",
        str(ROOT / "opa/system/authz/authz.rego"),
    )
    with opa_node(bundle, *guard, str(digest)) as (url, _):
        async with engine(url, token_file=token) as asked:
            assert (await asked.query(COUNT)).result["count"] == 2
        token.write_text("wrong")
        for given in (token, None):
            with pytest.raises(EngineFailedError, match="HTTP status 401"):
                async with engine(url, token_file=given):
                    pass


ADDRESSES = {
    "empty": "",
    "no-scheme": "opa.example:8181",
    "another-scheme": "ftp://opa.example",
    "unix": "unix:///run/opa",
    "no-host": "https://",
    "in-the-clear": "http://opa.example",
    "in-the-clear-to-a-near-network": "http://192.168.1.1:8181",
    "every-address": "http://0.0.0.0:8181",
    "loopback-as-a-name-elsewhere": "http://127.0.0.1.example",
    "password": "https://user:secret@opa.example",
    "query": "https://opa.example?a",
    "fragment": "https://opa.example#a",
    "no-port": "https://opa.example:http",
    "control": "https://opa.example/\x1b[2J",
    "space": "https://opa.example/a b",
    "not-ascii": "https://opa.ex\u0430mple",
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_that_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        Nodes.of([ADDRESSES[name]])
    assert "secret" not in str(caught.value)
    assert "\x1b" not in str(caught.value.where)


def test_addresses_in_their_plain_form() -> None:
    given = [
        "https://OPA.example/policy/",
        "https://opa.example:9000",
        "http://[::1]:8181",
        "http://127.9.9.9/",
    ]
    nodes = Nodes.of(given)
    assert nodes is not None
    assert nodes.urls == (
        "https://opa.example:443/policy",
        "https://opa.example:9000",
        "http://[::1]:8181",
        "http://127.9.9.9:80",
    )


def test_files_and_nodes_belong_together(tmp_path: Path) -> None:
    token, empty = tmp_path / "token", tmp_path / "empty"
    token.write_text("a b")
    empty.write_text("")
    assert Nodes.of([]) is None
    for bad in ({"ca": token}, {"token_file": token}):
        with pytest.raises(UsageError):
            Nodes.of([], **bad)
    with pytest.raises(UsageError, match="no bearer token"):
        Nodes.of(["https://a.example"], token_file=token)
    with pytest.raises(UsageError, match="twice"):
        Nodes.of(["https://a.example", "https://A.example:443/"])
    for missing in ({"token_file": empty}, {"ca": token}, {"ca": tmp_path / "none"}):
        with pytest.raises(FileError):
            Nodes.of(["https://a.example"], **missing)


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(Nodes(("https://a.example:443",), "secret"))


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_many_starts_leave_nothing_open(node: tuple[str, PlainOpa]) -> None:
    before = descriptors()
    for _ in range(5):
        async with engine(node[0]) as asked:
            await asked.query(COUNT)
    await asyncio.sleep(0)
    assert descriptors() <= before + 2
