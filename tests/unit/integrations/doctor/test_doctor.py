"""Each failure that `ironcurtain doctor` knows is planted once: it is found, and its fix is named."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fixtures.drifting_server import listed
from support.generators.bad_entries import BAD_TOOLS, OBJECT, listing, server_of
from support.projects.policies import rule, tool, write_bundle, write_servers
from support.records.audited import KEY, write_log

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.signing.keys import new_key
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.enforcement.sandbox.programs import Programs, ProgramSurvey
from ironcurtain.integrations.doctor import project as program
from ironcurtain.integrations.doctor.audit import audit
from ironcurtain.integrations.doctor.clients import clients
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation
from ironcurtain.integrations.doctor.policy import bundle
from ironcurtain.integrations.doctor.project import approvals, keys
from ironcurtain.integrations.doctor.servers import containment, servers
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.tools import ToolListing, tool_digest
from ironcurtain.system.structs import replace

SERVER = Path(__file__).parents[3] / "fixtures" / "drifting_server.py"
UNCONTAINED = {"sandbox": False}


def pinned(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the annotation of a tool of the drifting server, as it is before it drifts."""
    roles: dict[str, Any] = {"path": ["read-path"]} if schema["properties"] else {}
    listing = ToolListing(name=name, description=description, input_schema=schema)
    return {**tool(name, **roles), "input_schema": schema, "schema_digest": tool_digest(listing)}


@pytest.fixture
def well(tmp_path: Path) -> Installation:
    """Return an installation in which all is well: nothing recorded yet, one server, no client."""
    tools = [pinned(one.name, one.description or "", one.input_schema) for one in listed(set())]
    user = tmp_path / "home" / ".ironcurtain"
    user.mkdir(parents=True, mode=0o700)
    command = {"command": sys.executable, "args": [str(SERVER), str(tmp_path / "words")], **UNCONTAINED}
    return Installation(
        bundle=write_bundle(tmp_path, {"notes": tools}, [rule("all", "allow", tool=["list_tags"])]),
        servers=write_servers(tmp_path, {"notes": command}),
        user=user,
        approvals=(user / "approvals", user / "approvals.key"),
        audit=user / "audit",
        cwd=tmp_path,
    )


def bad(found: Iterator[Diagnosis]) -> list[Diagnosis]:
    return [each for each in found if each.status == "fail"]


def only(found: Iterator[Diagnosis], what: str, fix: str) -> None:
    """Assert exactly one failure, with these words in what and in its fix."""
    (one,) = bad(found)
    assert what in one.what, one
    assert fix in one.fix, one


CHECKS: list[Callable[[Installation], Iterator[Diagnosis]]] = [
    program.python,
    program.packages,
    program.engine_program,
    program.decision,
    bundle,
    servers,
    approvals,
    audit,
    keys,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_nothing_is_wrong_where_all_is_well(
    check: Callable[[Installation], Iterator[Diagnosis]], well: Installation
) -> None:
    found = list(check(well))
    assert found
    assert not bad(iter(found)), found


def test_a_bad_entry_of_a_server_is_named(well: Installation) -> None:
    bad, said = BAD_TOOLS["empty-schema"]
    config = server_of(listing(well.cwd, "notes", {"name": "good", "inputSchema": OBJECT}, bad))
    found = list(servers(replace(well, servers=write_servers(well.cwd, {"notes": config}))))
    (one,) = [each for each in found if said in each.what]
    assert (one.name, one.status) == ("servers/notes", "warn")
    assert "starts and lists 1 tool" in str([each.what for each in found if each.name == one.name])


@pytest.mark.parametrize(
    ("requirement", "what"),
    [
        ("no-such-package>=1.0", "no-such-package is not installed"),
        ("click>=999,<1000", "and 999 or newer is needed"),
        ("pyjwt[crypto]>=999", "and 999 or newer is needed"),
    ],
)
def test_packages(requirement: str, what: str) -> None:
    only(program.check_packages([requirement, "click>=8"]), what, f"pip install '{requirement}'")
    assert not bad(program.check_packages([f"{requirement}; extra == 'more'"]))


def test_an_opa_that_is_not_there(well: Installation) -> None:
    subject = replace(well, opa=well.cwd / "opa")
    only(program.engine_program(subject), "is no file", "Correct the configured path")
    only(program.decision(subject), "is no file", "Correct the configured path")


def test_an_opa_that_is_too_old(well: Installation) -> None:
    old = well.cwd / "opa"
    old.write_text("#!/bin/sh\necho Version: 0.30.0\n")
    old.chmod(0o755)
    only(program.engine_program(replace(well, opa=old)), "OPA 0.30.0", "ironcurtain opa install")


def test_a_sandbox_that_can_never_be_safe(well: Installation) -> None:
    only(program.decision(replace(well, workspace=Path("/"))), "the sandbox /", "directory of its own")


def test_a_bundle_that_is_not_there(well: Installation) -> None:
    only(bundle(replace(well, bundle=well.cwd / "none")), "no bundle at", "ironcurtain compile")


def test_a_bundle_that_is_cut_off(well: Installation) -> None:
    well.bundle.write_bytes(well.bundle.read_bytes()[:-200])
    only(bundle(well), "", "ironcurtain compile --locked")


def test_a_tool_that_no_call_can_use(well: Installation) -> None:
    pattern = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(?!x).*$"}}}
    odd = tool("odd", text=["none"]) | {"input_schema": pattern}
    written = write_bundle(well.cwd, {"notes": [odd]}, [rule("all", "allow", tool=["odd"])])
    told = [each for each in bundle(replace(well, bundle=written)) if each.name == "tools"]
    assert [each.status for each in told] == ["warn"]
    assert "every call of notes/odd is denied" in told[0].what
    assert "outside RE2" in told[0].what


def test_a_bundle_of_a_newer_version(well: Installation) -> None:
    directory = well.cwd / "bundle"
    Bundle.read(well.bundle).write_directory(directory)
    manifest = directory / ".manifest"
    manifest.write_text(manifest.read_text().replace("ironcurtain/bundle/v1", "ironcurtain/bundle/v99"))
    only(bundle(replace(well, bundle=directory)), "", "Install the newest IronCurtain")


def test_a_bundle_whose_rego_was_edited(well: Installation) -> None:
    whole = Bundle.read(well.bundle)
    (module,) = (path for path in whole.files if path.endswith("policy.rego"))
    files = {path: data for path, data in whole.files.items() if path != ".manifest"}
    edited = Bundle.build({**files, module: files[module] + b"# edited\n"}, whole.manifest.metadata)
    well.bundle.write_bytes(edited.archive())
    only(bundle(well), "not what the bundle's rules say", "build the bundle again")


def test_a_bundle_that_nobody_signed_or_somebody_else(well: Installation) -> None:
    for name in ("own", "other"):
        new_key(well.cwd / f"{name}.pem", "ES256")
    own = new_key(well.cwd / "third.pem", "ES256")
    public = well.cwd / "public.pem"
    public.write_text(own.public.pem)
    subject = replace(well, verify_key=public)
    only(bundle(subject), "", "ironcurtain compile --sign")
    stranger = new_key(well.cwd / "stranger.pem", "ES256")
    plain = Bundle.read(well.bundle)
    well.bundle.write_bytes(sign(plain, stranger).archive())
    only(bundle(subject), "", "ironcurtain compile --sign")
    well.bundle.write_bytes(sign(plain, own).archive())
    assert {each.status for each in bundle(subject)} == {"ok"}


def test_rules_written_by_hand_were_made_from_no_constitution(well: Installation) -> None:
    constitution = well.cwd / "constitution.md"
    constitution.write_text("- Notes may be read.\n")
    found = list(bundle(replace(well, sources=(constitution, None, well.cwd))))
    assert [(each.name, each.status) for each in found] == [("bundle", "warn"), ("rules", "ok")]


def test_a_configuration_of_servers_that_is_not_there(well: Installation) -> None:
    well.servers.unlink()
    only(servers(well), "does not exist", "Check the path")


def test_a_key_that_is_nearly_ours(well: Installation) -> None:
    write_servers(well.cwd, {"notes": {"command": "x", "sandbx": False}})
    only(servers(well), '"sandbx"', 'Write "sandbox"')


def test_a_command_that_is_not_there(well: Installation) -> None:
    write_servers(well.cwd, {"notes": {"command": "no-such-program", "args": ["a b"], **UNCONTAINED}})
    only(servers(well), "was not found", "Start it by hand in")


def test_a_server_that_dies(well: Installation) -> None:
    (well.cwd / "words").write_text("dies")
    only(servers(well), "the server failed", "drifting_server.py")


def test_drift(well: Installation) -> None:
    (well.cwd / "words").write_text("renamed told added")
    found = [each for each in servers(well) if each.name == "drift"]
    assert [each.status for each in found] == ["warn", "fail", "fail"]
    assert "servers add notes" in found[0].fix
    assert "sets instructions aside" in found[1].what
    assert "notes/read_note changed (schema)" in found[2].what
    assert "ironcurtain drift" in found[2].fix


_NO_NAMESPACES = "bubblewrap may not make namespaces here"
_EXCEEDED = (
    "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)"
)
_PROFILE = "profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }"


@pytest.mark.parametrize(
    ("missing", "fix"),
    [
        ("bubblewrap (bwrap) is not installed", "apt-get install bubblewrap"),
        ("socat is not installed", "apt-get install socat"),
        ("ripgrep (rg) is not installed", "apt-get install ripgrep"),
        ("Node.js (node) is not installed", "Install Node.js"),
        (
            "srt of @anthropic-ai/sandbox-runtime is not installed",
            "Run `npm install -g @anthropic-ai/sandbox-runtime@0.0.83`.",
        ),
        (f"{_NO_NAMESPACES} (bwrap: setting up uid map: Permission denied)", _PROFILE),
        (
            f"{_NO_NAMESPACES} (bwrap: Creating new namespace failed: No space left on device)",
            "user.max_user_namespaces",
        ),
        (f"{_NO_NAMESPACES} ({_EXCEEDED})", "user.max_user_namespaces"),
    ],
)
def test_the_sandbox(missing: str, fix: str, tmp_path: Path) -> None:
    def says(policy: str, found: ProgramSurvey, server: dict[str, object]) -> Diagnosis:
        path = tmp_path / "mcp-servers.json"
        path.write_text(json.dumps({"mcpServers": {"notes": server}, "sandbox": {"policy": policy}}))
        (one,) = containment(load_servers(path), found)
        return one

    lacking = ProgramSurvey(None, (missing,))
    held = says("enforce", lacking, {"command": "x"})
    assert (held.status, held.what) == ("fail", missing)
    assert fix in held.fix
    assert "apparmor_restrict" not in held.fix, "nothing that weakens the whole machine"
    assert says("warn", lacking, {"command": "x"}).status == "warn"
    assert says("enforce", lacking, {"command": "x", **UNCONTAINED}).status == "warn"
    whole = ProgramSurvey(Programs(shutil.which("node") or "", "srt"))
    assert says("enforce", whole, {"command": "x"}).status == "ok"


def test_uncontained_servers_are_named_in_the_order_of_their_file(tmp_path: Path) -> None:
    names = [f"server{number}" for number in range(9)]
    path = write_servers(tmp_path, {name: {"command": "x", **UNCONTAINED} for name in names})
    found = containment(load_servers(path), ProgramSurvey(None))
    assert [each.what.split()[1] for each in found] == names


def test_an_approvals_directory_that_others_can_use(well: Installation) -> None:
    place, _ = well.approvals
    place.mkdir(mode=0o700)
    place.chmod(0o777)
    only(approvals(well), "mode 0777", "chmod 700")


def test_an_approvals_key_that_others_can_read(well: Installation) -> None:
    place, key = well.approvals
    place.mkdir(mode=0o700)
    key.write_bytes(bytes(32))
    key.chmod(0o644)
    only(approvals(well), "can be read by others", "chmod 600")


def test_an_approvals_directory_that_the_agent_can_reach(well: Installation) -> None:
    place, _ = well.approvals
    place.mkdir(mode=0o700)
    only(approvals(replace(well, workspace=well.user)), "must lie apart", "outside the sandbox")


def test_one_audit_log_is_told_as_one(well: Installation) -> None:
    write_log(well.audit, 2)
    assert [each.what for each in audit(well) if each.status == "ok"] == ["1 log is as it was written"]


def test_an_audit_log_that_was_changed(well: Installation) -> None:
    log = write_log(well.audit, 2)
    log.path.write_bytes(log.path.read_bytes().replace(b"Files may be read.", b"Files can be read."))
    only(audit(well), "the log work is not what was written", "ironcurtain audit verify work")


def test_an_audit_log_that_was_cut_off(well: Installation) -> None:
    log = write_log(well.audit, 2)
    log.path.write_bytes(b"".join(log.path.read_bytes().splitlines(keepends=True)[:2]))
    only(audit(well), "lines were removed", "ironcurtain audit verify work")


def test_an_audit_log_without_its_head(well: Installation) -> None:
    write_log(well.audit, 2).head.unlink()
    found = [each for each in audit(well) if each.status == "warn"]
    assert "has no head" in found[0].what
    assert "Restore" in found[0].fix


def test_an_audit_log_of_another_key(well: Installation) -> None:
    write_log(well.audit, 1, key=bytes(32))
    key = well.user / "audit.key"
    key.write_text(KEY.hex())
    key.chmod(0o600)
    only(audit(well), "not written with this key", "ironcurtain audit verify work")


def test_an_audit_key_that_others_can_read(well: Installation) -> None:
    key = well.user / "audit.key"
    key.write_text(KEY.hex())
    key.chmod(0o644)
    only(audit(well), "others can read the key", f"chmod 600 {key}")


def test_a_signing_key_that_others_can_read(well: Installation) -> None:
    new_key(well.user / "signing-key.pem", "ES256")
    assert not bad(keys(well))
    (well.user / "signing-key.pem").chmod(0o640)
    only(keys(well), "mode 0640", "chmod 600")


def client(well: Installation, servers: Mapping[str, object] | str) -> Installation:
    """Return the installation with a client's configuration that has to be wrapped."""
    path = well.cwd / "client.json"
    text = servers if isinstance(servers, str) else json.dumps({"mcpServers": servers})
    path.write_text(text)
    return replace(well, clients=(str(path),))


def entry(well: Installation, **more: object) -> dict[str, object]:
    """Return a client's server that is the proxy."""
    words = ["-m", "ironcurtain", "proxy", "--servers", str(well.servers), "--bundle", str(well.bundle)]
    return {"command": sys.executable, "args": words, **more}


def test_a_client_that_is_wrapped(well: Installation) -> None:
    assert [each.status for each in clients(client(well, {"ironcurtain": entry(well)}))] == ["ok"]


def test_a_client_that_is_not_there(well: Installation) -> None:
    only(
        clients(replace(well, clients=(str(well.cwd / "none"),))), "has no configuration", "Start the client"
    )


def test_a_client_that_is_not_wrapped(well: Installation) -> None:
    subject = replace(client(well, {"notes": {"command": "x"}}), workspace=well.cwd)
    (file,) = subject.clients
    wrapping = f"Run `ironcurtain wrap {file} --bundle {well.bundle} --sandbox {well.cwd}`."
    only(clients(subject), "is not wrapped", wrapping)


def test_a_client_whose_configuration_is_broken(well: Installation) -> None:
    only(clients(client(well, '{"mcpServers": {')), "not valid JSON", "IC1003")


def test_a_client_whose_program_is_gone(well: Installation) -> None:
    wrapped = {"ironcurtain": entry(well, command="/no/such/ironcurtain")}
    only(clients(client(well, wrapped)), "/no/such/ironcurtain, which is no program", "ironcurtain wrap")


def test_a_client_whose_servers_file_is_gone(well: Installation) -> None:
    subject = client(well, {"ironcurtain": entry(well)})
    well.servers.unlink()
    only(clients(subject), f"--servers {well.servers}, which does not exist", "ironcurtain wrap")


def test_a_client_with_servers_past_the_policy(well: Installation) -> None:
    found = list(clients(client(well, {"ironcurtain": entry(well), "other": {"command": "x"}})))
    assert [each.status for each in found] == ["warn", "ok"]
    assert "past the policy: other" in found[0].what
