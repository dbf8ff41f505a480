"""What can be wrong with approvals, records, keys, clients, proxies, nodes and places to publish to."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess

import pytest

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.signing.keys import new_key
from ironcurtain.enforcement.proxy.status.liveness_lock import running
from ironcurtain.enforcement.proxy.status.report import ProxyStatus, ServerStatus
from ironcurtain.engine.remote_nodes import NodeStatus
from ironcurtain.system import json_text
from support.machines.healthy_installation import House, Plants, Sign
from support.projects.shipped import bundle as shipped
from support.records.audited import write_log
from support.services.nodes import answer, opa_node, pretender

PLANTS = Plants()

# -- approvals, records, keys ----------------------------------------------------------------------------


@PLANTS.take("many things at once", "IC1008")
def an_approvals_directory_that_others_can_use(house: House) -> list[Sign]:
    (house.own / "approvals").mkdir()
    (house.own / "approvals").chmod(0o777)
    return [Sign("approvals", "mode 0777", "chmod 700", "IC1008")]


@PLANTS.take("a bundle of a stranger's", "IC1008")
def approvals_in_reach_of_a_server(house: House) -> list[Sign]:
    server = {"tools": "tools.json", "workingRoot": str(house.home)}
    house.file.write_text(json.dumps({"mcpServers": {"notes": server}}))
    return [Sign("approvals", "must lie apart", "outside the sandbox and the working roots", "IC1008")]


@PLANTS.take("many things at once", "IC3404")
def an_audit_log_that_was_changed(house: House) -> list[Sign]:
    log = write_log(house.own / "audit", 2)
    log.path.write_bytes(log.path.read_bytes().replace(b"Files may be read.", b"Files can be read."))
    log.path.with_name("work (a copy).jsonl").write_text("a person's own")
    return [Sign("audit", "the log work is not what was written", "audit verify work", "IC3404")]


@PLANTS.take("a bundle that was edited", "IC3404")
def an_audit_log_that_somebody_holds(house: House) -> list[Sign]:
    head = house.stack.enter_context(write_log(house.own / "audit", 1).head.open("rb"))
    fcntl.flock(head, fcntl.LOCK_EX)
    return [Sign("audit", "writes the log work", "give another --session", "IC3404", "warn")]


@PLANTS.take("an unsigned bundle", "IC3404")
def no_place_for_an_audit_log(house: House) -> list[Sign]:
    (house.own / "audit").write_text("a file")
    return [Sign("audit", "no log can be written", "Give yourself the permission", "IC3404")]


@PLANTS.take("a full disk", "IC3404")
def no_space_for_an_audit_log(house: House) -> list[Sign]:
    place = house.own / "audit"
    place.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets us mount nothing")
    house.stack.callback(subprocess.run, ["umount", str(place)], check=True)
    return [Sign("audit", "every call is refused", "Free some space", "IC3404")]


@PLANTS.take("many things at once")
def a_signing_key_that_others_can_read(house: House) -> list[Sign]:
    new_key(house.own / "signing-key.pem", "ES256")
    (house.own / "signing-key.pem").chmod(0o640)
    return [Sign("keys", "mode 0640", "chmod 600")]


# -- clients, proxies, nodes, publishing -------------------------------------------------------------------


@PLANTS.take("many things at once", "IC1003")
def a_client_whose_configuration_is_broken(house: House) -> list[Sign]:
    (house.home / ".claude.json").write_text('{"mcpServers": {')
    house.options += ["--client", "claude-code"]
    return [Sign("client/claude-code", "not valid JSON", "", "IC1003")]


@PLANTS.take("many things at once", "IC1004", "IC3003", "IC3201", "IC3403", "IC3404")
def proxies_that_do_not_do_well(house: House) -> list[Sign]:
    place = house.own / "status"
    sick = ProxyStatus(
        session="sick",
        pid=os.getpid(),
        since="2026-01-01T00:00:00Z",
        revision="sha256:" + "1" * 64,
        observe=True,
        servers=(ServerStatus(name="notes", up=False, tools=0, hidden=0, reason="it ended"),),
        pending=0,
        decisions=0,
        trouble="no space is left",
        nodes=(NodeStatus(url="http://127.0.0.1:1", serves=False, rule="engine-unreachable", reason="no"),),
        http=f"http://127.0.0.1:{house.deaf_port()}/mcp",
    )
    fresh = ProxyStatus(
        session="fresh",
        pid=os.getpid(),
        since=sick.since,
        revision=Bundle.read(house.bundle).revision,
        observe=False,
        servers=(ServerStatus(name="notes", up=False, tools=0, hidden=0, starting=True),),
        pending=0,
        decisions=0,
    )
    texts = {each.session: json_text.pretty(each.model_dump(mode="json")) for each in (sick, fresh)}
    texts["newer"] = texts["fresh"].replace("proxy-status/v1", "proxy-status/v99")
    for name, text in texts.items():
        house.stack.enter_context(running(place / f"{name}.json"))
        (place / f"{name}.json").write_text(text)
    for name, text in {"killed": texts["sick"], "left": texts["newer"]}.items():
        (place / f"{name}.json").write_text(text)
    return [
        Sign("proxy/fresh", "0 of 1 server is up; 1 start with the first client", "", status="ok"),
        Sign("proxy/killed", "it was killed", "Let its client start it again", status="warn"),
        Sign("proxy/left", "it was killed", "Let its client start it again", status="warn"),
        Sign("proxy/newer", "proxy-status/v99", "with the version of IronCurtain", "IC1004"),
        Sign("proxy/sick", "every call is refused: no space", "the part audit", "IC3404"),
        Sign("proxy/sick", "its server notes is down: it ended", "starts it again by itself", "IC3201"),
        Sign("proxy/sick", "its node http://127.0.0.1:1: no", "Start it", "IC3003"),
        Sign("proxy/sick", "nobody answers at http://127.0.0.1:", "start it again", "IC3403"),
        Sign("proxy/sick", "and the bundle is", f"kill -HUP {os.getpid()}", status="warn"),
        Sign("proxy/sick", "observes only", "without --observe", status="warn"),
    ]


@PLANTS.take("nodes that do not decide", "IC3003")
def nodes_that_do_not_decide(house: House) -> list[Sign]:
    other = house.project / "other.tar.gz"
    other.write_bytes(shipped().archive())
    elsewhere, _ = house.stack.enter_context(opa_node(other))
    revision = Bundle.read(house.bundle).revision
    stranger = house.stack.enter_context(pretender(200, answer(revision, "yes"))).url
    closed = house.stack.enter_context(pretender(401)).url
    down = f"http://127.0.0.1:{house.deaf_port()}"
    for url in (down, elsewhere, stranger, closed):
        house.options += ["--engine", url]
    return [
        Sign(f"node/{down}", "", "Start it", "IC3003"),
        Sign(f"node/{elsewhere}", "revision", "Publish this bundle", "IC3003"),
        Sign(f"node/{stranger}", "", "This is no OPA that serves our bundle", "IC3003"),
        Sign(f"node/{closed}", "401", "Check --engine-token-file", "IC3003"),
        Sign("engine", "no node serves the bundle", "", "IC3003"),
    ]


@PLANTS.take("a bundle that is too old", "IC1001")
def an_address_that_is_none(house: House) -> list[Sign]:
    house.options += ["--engine", "http://example.com"]
    return [Sign("node", "in the clear", "Use https", "IC1001")]


@PLANTS.take("many things at once", "IC3401")
def places_where_nothing_can_be_published(house: House) -> list[Sign]:
    down = f"http://127.0.0.1:{house.deaf_port()}/bundle.tar.gz"
    missing, file = house.project / "to" / "come", house.project / "constitution.md"
    house.options += ["--publish-to", str(missing), "--publish-to", str(file / "in"), "--publish-to", down]
    return [
        Sign(f"publish/{missing}", "in a directory that is made", "", status="ok"),
        Sign(f"publish/{file / 'in'}", f"{file} is no directory", "Move it away", "IC3401"),
        Sign(f"publish/{down}", "cannot be reached", "Start the server", "IC3401"),
    ]
