"""Every failure that a person at home or an operator can meet, planted for real: doctor names it and its fix.

The failures of a compile are told by the compile itself, at the place in the file; those codes stand below.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from e2e.program import ROOT, Inside
from fixtures.tiny_project import tree
from jsonschema import Draft202012Validator
from support.audited import write_log
from support.contained import NEEDS_SANDBOX
from support.nodes import answer, free_port, opa_node, pretender
from support.shipped import bundle as shipped

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.keys import new_key
from ironcurtain.bundle.signature import sign
from ironcurtain.model import jsontext
from ironcurtain.model.status import NodeStatus, ProxyStatus, ServerStatus
from ironcurtain.proxy.running import running

SERVER = Path(__file__).parents[1] / "fixtures" / "drifting_server.py"
SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas" / "doctor.json").read_text()))
OF_COMPILING = {
    "IC0001", "IC0002", "IC1007", "IC1101", "IC1102", "IC1103", "IC1201", "IC1202", "IC1203", "IC1204",
    "IC1205", "IC1301", "IC1401", "IC1402", "IC1403", "IC2001", "IC2002", "IC3302", "IC3303", "IC3402",
    "IC4001", "IC4002",
}  # fmt: skip


@dataclass(frozen=True)
class Sign:
    """What doctor has to say: the part, and words of what it finds and of the fix."""

    name: str
    what: str
    fix: str
    code: str = ""
    status: str = "fail"


@dataclass
class House:
    """An installation in which all is well, to be spoilt."""

    project: Path
    patch: pytest.MonkeyPatch
    stack: ExitStack
    options: list[str] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.project / "home"

    @property
    def own(self) -> Path:
        return self.home / ".ironcurtain"

    @property
    def bundle(self) -> Path:
        return self.project / "generated" / "bundle"

    @property
    def file(self) -> Path:
        return self.project / "mcp-servers.json"

    def servers(self, **more: object) -> None:
        """Let the server be one that is started."""
        words = [str(SERVER), str(self.project / "words")]
        server = {"command": sys.executable, "args": words, **more}
        self.file.write_text(json.dumps({"mcpServers": {"notes": server}}))

    def settings(self, **more: str) -> None:
        told = "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())
        (self.project / "ironcurtain.toml").write_text(f"serial = 3\n{told}")

    def program(self, name: str, text: str) -> Path:
        path = self.project / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def path_without(self, *missing: str) -> None:
        """Set a PATH on which some programs are not."""
        place = self.project / "programs"
        place.mkdir()
        for name in {"opa", "node", "git", "sh", "bash", "bwrap", "socat", "rg", "true"} - {*missing}:
            if found := shutil.which(name):
                (place / name).symlink_to(found)
        self.patch.setenv("PATH", str(place))

    def signed(self, *, by: str = "own") -> None:
        """Sign the bundle, with a key that is ours or a stranger's, and demand ours."""
        own = new_key(self.home / "own.pem", "ES256")
        key = own if by == "own" else new_key(self.home / f"{by}.pem", "ES256")
        archive = self.project / "signed.tar.gz"
        archive.write_bytes(sign(Bundle.read(self.bundle), key).archive())
        (self.home / "public.pem").write_text(own.public.pem)
        self.options += ["--bundle", str(archive), "--verify-key", str(self.home / "public.pem")]


@pytest.fixture
def house(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    monkeypatch.setenv("HOME", str(project / "home"))
    for name in ("IRONCURTAIN_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (project / "home" / ".ironcurtain").mkdir(parents=True, mode=0o700)
    # What is not about servers starts none.
    (project / "mcp-servers.json").write_text(json.dumps({"mcpServers": {"notes": {"tools": "tools.json"}}}))
    with ExitStack() as stack:
        yield House(project, monkeypatch, stack)


Plant = Callable[[House], list[Sign]]
PLANTS: list[tuple[Plant, set[str]]] = []


def plant(*codes: str) -> Callable[[Plant], Plant]:
    """Take a failure, with the codes that doctor names for it."""

    def take(function: Plant) -> Plant:
        PLANTS.append((function, {*codes}))
        return function

    return take


# -- the program, the settings, the model ------------------------------------------------------------


@plant("IC1003")
def settings_with_a_misspelt_key(house: House) -> list[Sign]:
    (house.project / "ironcurtain.toml").write_text('modle = "manual"\n')
    return [Sign("settings", 'unknown key "modle"', 'Did you mean "model"?', "IC1003")]


@plant("IC1002")
def a_users_file_that_others_can_read(house: House) -> list[Sign]:
    (house.own / "config.json").write_text("{}")
    (house.own / "config.json").chmod(0o644)
    return [Sign("settings", "others can read or change it", "chmod 600", "IC1002")]


@plant("IC3301")
def a_model_without_a_key(house: House) -> list[Sign]:
    house.settings(model="anthropic:some-model")
    return [Sign("model", "no key for the Anthropic API", "Set ANTHROPIC_API_KEY", "IC3301", "warn")]


class Refusing(BaseHTTPRequestHandler):
    """A provider that takes no key."""

    def do_GET(self) -> None:
        self.send_response(401 if self.headers["x-api-key"] == "wrong" else 500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@plant("IC3301")
def a_model_that_refuses_the_key(house: House) -> list[Sign]:
    server = house.stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Refusing))
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    house.stack.callback(server.shutdown)
    house.settings(model="anthropic:some-model")
    house.patch.setenv("ANTHROPIC_API_KEY", "wrong")
    house.patch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_port}")
    house.options.append("--online")
    return [Sign("model", "refuses the key (HTTP status 401)", "Set ANTHROPIC_API_KEY", "IC3301")]


@plant("IC3301")
def a_model_that_cannot_be_reached(house: House) -> list[Sign]:
    house.settings(model="anthropic:some-model")
    house.patch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{free_port()}")
    house.options.append("--online")
    return [Sign("model", "cannot be reached", "ANTHROPIC_BASE_URL", "IC3301")]


@plant("IC3001")
def no_opa(house: House) -> list[Sign]:
    house.path_without("opa")
    fix = "Run `ironcurtain opa install`"
    return [Sign("opa", "no OPA was found", fix, "IC3001"), Sign("engine", "no OPA", fix, "IC3001")]


@plant("IC3002")
def an_opa_that_is_too_old(house: House) -> list[Sign]:
    house.options += ["--opa", str(house.program("old-opa", "echo Version: 0.30.0"))]
    return [Sign("opa", "OPA 0.30.0", "ironcurtain opa install", "IC3002")]


@plant("IC3003")
def an_opa_that_does_not_serve(house: House) -> list[Sign]:
    real = shutil.which("opa")
    text = f'case "$1" in run) echo no luck; exit 1;; *) exec {real} "$@";; esac'
    house.options += ["--opa", str(house.program("sick-opa", text))]
    return [Sign("engine", "no luck", "", "IC3003")]


# -- the bundle ---------------------------------------------------------------------------------------


@plant("IC3101")
def no_bundle(house: House) -> list[Sign]:
    shutil.rmtree(house.bundle)
    return [Sign("bundle", "there is no bundle", "Run `ironcurtain compile`", "IC3101")]


@plant("IC3101")
def a_bundle_that_was_edited(house: House) -> list[Sign]:
    (house.bundle / "ironcurtain" / "rules" / "data.json").write_text("{}")
    return [Sign("bundle", "content is not that of the revision", "ironcurtain compile --locked", "IC3101")]


@plant("IC1004")
def a_bundle_of_a_newer_version(house: House) -> list[Sign]:
    manifest = house.bundle / ".manifest"
    manifest.write_text(manifest.read_text().replace("ironcurtain/bundle/v1", "ironcurtain/bundle/v99"))
    return [Sign("bundle", "bundle/v99", "Install the newest IronCurtain", "IC1004")]


@plant("IC3103")
def a_bundle_that_nobody_signed(house: House) -> list[Sign]:
    house.signed()
    house.options[1] = str(house.bundle)
    return [Sign("bundle", "not signed", "ironcurtain compile --sign", "IC3103")]


@plant("IC3103")
def a_bundle_that_a_stranger_signed(house: House) -> list[Sign]:
    house.signed(by="stranger")
    return [Sign("bundle", "", "Take the signed archive from whoever publishes it", "IC3103")]


@plant("IC3103")
def a_bundle_that_is_too_old(house: House) -> list[Sign]:
    house.signed()
    house.options += ["--min-serial", "99"]
    return [Sign("bundle", "99", "Take the signed archive", "IC3103")]


@plant("IC3101")
def another_bundle_than_was_expected(house: House) -> list[Sign]:
    house.options += ["--expect-revision", "sha256:" + "0" * 64]
    return [Sign("bundle", "revision", "ironcurtain compile --locked", "IC3101")]


@plant()
def a_bundle_that_is_older_than_its_constitution(house: House) -> list[Sign]:
    with (house.project / "constitution.md").open("a") as file:
        file.write("\n- Notes may be burned.\n")
    archive = house.bundle.with_name("bundle.signed.tar.gz")
    archive.write_bytes(sign(shipped(), new_key(house.home / "own.pem", "ES256")).archive())
    return [
        Sign("bundle", "the constitution was changed", "Run `ironcurtain compile`", status="warn"),
        Sign("bundle", "another revision", "ironcurtain compile --locked --sign", status="warn"),
    ]


@plant("IC1002")
def a_bundle_that_others_can_write(house: House) -> list[Sign]:
    house.bundle.chmod(0o777)
    return [Sign("bundle", "others can write the bundle", "chmod go-w", "IC1002")]


@plant("IC3102")
def directories_that_lie_otherwise_here(house: House) -> list[Sign]:
    (house.project / "work" / "inside").mkdir(parents=True)
    (house.home / "notes").symlink_to(house.project / "work" / "inside")
    house.options += ["--sandbox", str(house.project / "work")]
    return [Sign("engine", "was verified with", "compile the policy for this layout", "IC3102")]


@plant("IC1006")
def a_sandbox_that_can_never_be_safe(house: House) -> list[Sign]:
    house.options += ["--sandbox", "/"]
    return [Sign("engine", "the sandbox /", "directory of its own", "IC1006")]


@plant("IC3403")
def what_the_operating_system_refuses(house: House) -> list[Sign]:
    house.options += ["--bundle", "b" * 300]
    return [Sign("bundle", "the operating system refuses: File name too long", "permission", "IC3403")]


# -- servers and their sandbox --------------------------------------------------------------------------


@plant("IC1002")
def no_servers_file(house: House) -> list[Sign]:
    house.file.unlink()
    return [Sign("servers", "does not exist", "Check the path", "IC1002")]


@plant("IC1002")
def a_servers_file_that_others_can_write(house: House) -> list[Sign]:
    house.file.chmod(0o666)
    return [Sign("servers", "others can write the servers' file", "chmod go-w", "IC1002")]


@plant("IC1005")
def a_key_that_is_nearly_ours(house: House) -> list[Sign]:
    house.servers(sandbx=False)
    return [Sign("servers", '"sandbx"', 'Write "sandbox"', "IC1005")]


@plant("IC3201")
def a_server_whose_command_is_not_there(house: House) -> list[Sign]:
    house.servers(command="no-such-program", sandbox=False)
    return [Sign("servers/notes", "was not found", "Start it by hand in", "IC3201")]


@plant("IC3201")
def a_server_that_would_fetch_itself(house: House) -> list[Sign]:
    house.servers(command=str(house.program("npx", "exit 1")))
    return [Sign("servers/notes", "the server failed", "fetches itself from the network", "IC3201")]


@plant("IC3201")
def a_server_that_dies(house: House) -> list[Sign]:
    house.servers(sandbox=False)
    (house.project / "words").write_text("dies")
    return [
        Sign("servers/notes", "the server failed", "Start it by hand in", "IC3201"),
        Sign("sandbox", "server notes runs uncontained", 'Take "sandbox": false out', status="warn"),
    ]


@plant()
def a_server_that_drifted(house: House) -> list[Sign]:
    house.servers(sandbox=False)
    (house.project / "words").write_text("renamed added")
    return [
        Sign("drift", "notes/read_note changed", "Read `ironcurtain drift`"),
        Sign("drift", "notes/burn_note is not in the policy", "servers add notes", status="warn"),
    ]


@plant("IC3202")
def a_machine_without_the_sandboxs_programs(house: House) -> list[Sign]:
    house.servers()
    house.path_without("bwrap", "socat", "rg")
    lacking = {"bubblewrap": "bubblewrap (bwrap)", "socat": "socat", "ripgrep": "ripgrep (rg)"}
    return [
        *(
            Sign("sandbox", f"{what} is not installed", f"apt-get install {package}", "IC3202")
            for package, what in lacking.items()
        ),
        Sign("servers/notes", "not started, because it cannot be contained", "", status="skip"),
    ]


@plant("IC3202")
def a_node_that_is_too_old(house: House) -> list[Sign]:
    house.servers()
    house.path_without("node")
    house.program("programs/node", "echo v12.22.1")
    return [Sign("sandbox", "is v12.22.1", "Install Node.js 20", "IC3202")]


# -- approvals, records, keys ----------------------------------------------------------------------------


@plant("IC1008")
def an_approvals_directory_that_others_can_use(house: House) -> list[Sign]:
    (house.own / "approvals").mkdir()
    (house.own / "approvals").chmod(0o777)
    return [Sign("approvals", "mode 0777", "chmod 700", "IC1008")]


@plant("IC1008")
def approvals_in_reach_of_a_server(house: House) -> list[Sign]:
    server = {"tools": "tools.json", "workingRoot": str(house.home)}
    house.file.write_text(json.dumps({"mcpServers": {"notes": server}}))
    return [Sign("approvals", "must lie apart", "outside the sandbox and the working roots", "IC1008")]


@plant("IC3404")
def an_audit_log_that_was_changed(house: House) -> list[Sign]:
    log = write_log(house.own / "audit", 2)
    log.path.write_bytes(log.path.read_bytes().replace(b"Files may be read.", b"Files can be read."))
    return [Sign("audit", "the log work is not what was written", "audit verify work", "IC3404")]


@plant("IC3404")
def an_audit_log_that_somebody_holds(house: House) -> list[Sign]:
    head = house.stack.enter_context(write_log(house.own / "audit", 1).head.open("rb"))
    fcntl.flock(head, fcntl.LOCK_EX)
    return [Sign("audit", "writes the log work", "give another --session", "IC3404", "warn")]


@plant("IC3404")
def no_place_for_an_audit_log(house: House) -> list[Sign]:
    (house.own / "audit").write_text("a file")
    return [Sign("audit", "no log can be written", "Give yourself the permission", "IC3404")]


@plant("IC3404")
def no_space_for_an_audit_log(house: House) -> list[Sign]:
    place = house.own / "audit"
    place.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets us mount nothing")
    house.stack.callback(subprocess.run, ["umount", str(place)], check=True)
    return [Sign("audit", "every call is refused", "Free some space", "IC3404")]


@plant()
def a_signing_key_that_others_can_read(house: House) -> list[Sign]:
    new_key(house.own / "signing-key.pem", "ES256")
    (house.own / "signing-key.pem").chmod(0o640)
    return [Sign("keys", "mode 0640", "chmod 600")]


# -- clients, proxies, nodes, publishing -------------------------------------------------------------------


@plant("IC1003")
def a_client_whose_configuration_is_broken(house: House) -> list[Sign]:
    (house.home / ".claude.json").write_text('{"mcpServers": {')
    house.options += ["--client", "claude-code"]
    return [Sign("client/claude-code", "not valid JSON", "", "IC1003")]


@plant("IC3003", "IC3201", "IC3403", "IC3404")
def proxies_that_do_not_do_well(house: House) -> list[Sign]:
    place = house.own / "status"
    status = ProxyStatus(
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
        http=f"127.0.0.1:{free_port()}",
    )
    house.stack.enter_context(running(place / "sick.json"))
    for name in ("sick", "killed"):
        (place / f"{name}.json").write_bytes(jsontext.pretty(status.model_dump(mode="json")).encode())
    return [
        Sign("proxy/killed", "it was killed", "Let its client start it again", status="warn"),
        Sign("proxy/sick", "every call is refused: no space", "the part audit", "IC3404"),
        Sign("proxy/sick", "its server notes is down: it ended", "servers/notes", "IC3201"),
        Sign("proxy/sick", "its node http://127.0.0.1:1: no", "Start it", "IC3003"),
        Sign("proxy/sick", "nobody answers at 127.0.0.1:", "start it again", "IC3403"),
        Sign("proxy/sick", "and the bundle is", f"kill -HUP {os.getpid()}", status="warn"),
        Sign("proxy/sick", "observes only", "without --observe", status="warn"),
    ]


@plant("IC3003")
def nodes_that_do_not_decide(house: House) -> list[Sign]:
    other = house.project / "other.tar.gz"
    other.write_bytes(shipped().archive())
    elsewhere, _ = house.stack.enter_context(opa_node(other))
    revision = Bundle.read(house.bundle).revision
    stranger = house.stack.enter_context(pretender(200, answer(revision, "yes"))).url
    closed = house.stack.enter_context(pretender(401)).url
    down = f"http://127.0.0.1:{free_port()}"
    for url in (down, elsewhere, stranger, closed):
        house.options += ["--engine", url]
    return [
        Sign(f"node/{down}", "", "Start it", "IC3003"),
        Sign(f"node/{elsewhere}", "revision", "Publish this bundle", "IC3003"),
        Sign(f"node/{stranger}", "", "This is no OPA that serves our bundle", "IC3003"),
        Sign(f"node/{closed}", "401", "Check --engine-token-file", "IC3003"),
        Sign("engine", "no node serves the bundle", "", "IC3003"),
    ]


@plant("IC1001")
def an_address_that_is_none(house: House) -> list[Sign]:
    house.options += ["--engine", "http://example.com"]
    return [Sign("node", "in the clear", "Use https", "IC1001")]


@plant("IC3401")
def places_where_nothing_can_be_published(house: House) -> list[Sign]:
    missing, down = house.project / "served", f"http://127.0.0.1:{free_port()}/bundle.tar.gz"
    house.options += ["--publish-to", str(missing), "--publish-to", down]
    return [
        Sign(f"publish/{missing}", "no such directory", "Make it", "IC3401"),
        Sign(f"publish/{down}", "cannot be reached", "Start the server", "IC3401"),
    ]


CONTAINED = {"a_node_that_is_too_old", "a_server_that_would_fetch_itself"}


@pytest.mark.parametrize(
    ("planted", "codes"),
    [
        pytest.param(
            each, codes, id=each.__name__, marks=[NEEDS_SANDBOX] if each.__name__ in CONTAINED else []
        )
        for each, codes in PLANTS
    ],
)
def test_it_is_named_with_its_fix(planted: Plant, codes: set[str], house: House, inside: Inside) -> None:
    signs = planted(house)
    assert {sign_.code for sign_ in signs} - {""} == codes
    before = tree(house.project)
    ended = inside("doctor", "--format", "json", *house.options, cwd=house.project)
    assert ended.err == ""
    report = json.loads(ended.out)
    SCHEMA.validate(report)
    for sign_ in signs:
        found = [each for each in report["checks"] if each["name"] == sign_.name]
        assert any(
            (each["status"], each["code"]) == (sign_.status, sign_.code)
            and sign_.what in each["what"]
            and sign_.fix in each["fix"]
            for each in found
        ), (sign_, found)
    failing = [each for each in report["checks"] if each["status"] == "fail"]
    assert all(each["fix"] for each in failing), failing
    assert (ended.code, report["ok"]) == ((1, False) if failing else (0, True))
    assert bool(failing) is any(sign_.status == "fail" for sign_ in signs)
    assert tree(house.project) == before, "it changes nothing"


def test_no_code_is_forgotten() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "errors").glob("IC*.md")}
    planted = set().union(*(codes for _, codes in PLANTS))
    assert pages == planted | OF_COMPILING
    assert not planted & OF_COMPILING
