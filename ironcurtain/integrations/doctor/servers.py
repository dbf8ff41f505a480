"""Do the servers start, are their tools as annotated, and can they be contained?"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

from ironcurtain.analysis.drift.drift import drift
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.annotate.tool_texts import text_findings
from ironcurtain.decision.comparison import confirm_line, withheld_words
from ironcurtain.enforcement.proxy.surroundings import NARROWER, list_as_proxied
from ironcurtain.enforcement.sandbox.profile import SandboxInputs, shown_sign_ins
from ironcurtain.enforcement.sandbox.programs import INSTALL, Programs, ProgramSurvey, survey
from ironcurtain.enforcement.sandbox.reach.agreement import disagreements, reach_words
from ironcurtain.enforcement.sandbox.reach.reach import reach_of
from ironcurtain.enforcement.sandbox.reach.sign_ins import sign_ins
from ironcurtain.enforcement.sandbox.report import offer_for
from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.errors import (
    BundleIntegrityError,
    BundleRelationError,
    ContainedServerError,
    ExtraMissingError,
    FetchError,
    GatewayError,
    IronCurtainError,
    NewerFormatError,
    RefusedRootError,
    SandboxMissingError,
    UnpermittedError,
)
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation, failed
from ironcurtain.model.verdict import Verdict
from ironcurtain.servers.config import ServerConfig, real_paths
from ironcurtain.servers.endpoint_names import renamed_tools
from ironcurtain.servers.permitted import project_servers
from ironcurtain.servers.tool_lists.listing import list_reachable
from ironcurtain.servers.tool_lists.published import recorded_servers
from ironcurtain.servers.tools import ListedServer, Tools
from ironcurtain.system.extras import need
from ironcurtain.system.ownership import check_own
from ironcurtain.system.secret_forms.hiding import words_without_secrets
from ironcurtain.system.subprocess_runner import run
from ironcurtain.system.text import counted, printable, visible


def reach(content: PolicyContent, config: ServerConfig, home: Path) -> Iterator[Diagnosis]:
    """Tell what each contained server and approved calls reach, and what of that no sandbox lets through."""
    for each in disagreements(content, config):
        yield Diagnosis.warn("sandbox", each.what, each.fix)
    for name, server in config.servers.items():
        if not server.command or server.sandbox is False:
            continue
        found = reach_of(content, name)
        words = reach_words(reach_of(content, name, {Verdict.ALLOW}), found)
        yield Diagnosis.ok("sandbox", f"server {visible(name)}: {words}")
        for place in _absent((*found.reads.named, *found.writes.named), config, home):
            yield Diagnosis.warn(
                "sandbox",
                f"server {visible(name)}: rules speak of {visible(place)}, which is not there",
                "Make it; the server reaches it from its next start on.",
            )
        for place in _not_ours(found.writes.named, config, home):
            yield Diagnosis.warn(
                "sandbox",
                f"server {visible(name)}: rules let it write {visible(place)}, which your user cannot",
                "Give your user the right, or name another place in the constitution.",
            )


def _absent(named: tuple[str, ...], config: ServerConfig, home: Path) -> list[str]:
    return [place for place in dict.fromkeys(named) if not _real(place, config, home).exists()]


def _not_ours(named: tuple[str, ...], config: ServerConfig, home: Path) -> list[str]:
    real = {place: _real(place, config, home) for place in dict.fromkeys(named)}
    return [place for place, path in real.items() if path.exists() and not os.access(path, os.W_OK)]


def _real(place: str, config: ServerConfig, home: Path) -> Path:
    return real_paths([place], home=home, directory=config.directory)[0]


_OLDEST_NODE = 20
_SECONDS = 30.0
_MOST_TRIED = 5
_VIOLATION = re.compile(r"server (?P<server>\S+): sandbox: violation: (?P<what>.*)")
_VERSION = re.compile(r"v(\d+)\.")
_PROFILE = (
    "abi <abi/4.0>, include <tunables/global> profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }"
)
_APPARMOR = (
    "Where AppArmor keeps namespaces to programs with a profile (Ubuntu 24.04), give bubblewrap one: "
    f"`echo '{_PROFILE}' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`. "
    "In a container, its host has to permit them."
)
_NO_MORE = (
    "Namespaces are counted, and none is left: raise the limit of `sysctl -a | grep user.max_` that is 0 or "
    "used up (`sudo sysctl user.max_user_namespaces=15000`), or run this in fewer nested containers."
)
_FIXES = (
    ("bubblewrap (bwrap)", "Run `apt-get install bubblewrap`."),
    ("socat", "Run `apt-get install socat`."),
    ("ripgrep (rg)", "Run `apt-get install ripgrep`."),
    ("Node.js (node)", f"Install Node.js {_OLDEST_NODE} or newer."),
    ("sandbox-runtime", f"Run `{INSTALL}`."),
    ("No space left", _NO_MORE),
    ("ENOSPC", _NO_MORE),
    ("namespaces", _APPARMOR),
)


def servers(installation: Installation) -> Iterator[Diagnosis]:
    """Read the configuration, start each server, list its tools, and hold them against the bundle."""
    if installation.bundle_alone:
        what = "a bundle is named, and neither a project nor --servers: no servers are looked at"
        fix = "Name their configuration with --servers, if the bundle is enforced here."
        yield Diagnosis.skip("servers", what, fix)
        return
    try:
        config = project_servers(installation.servers)
    except IronCurtainError as error:
        yield from failed("servers", error)
        return
    yield from _own(installation)
    try:
        need("mcp")  # which tool lists are read without
    except ExtraMissingError as error:
        yield from failed("proxy", error)
    told: list[str] = []
    try:
        live, broken = _live(installation, config, told.append)
    except SandboxMissingError:
        live, broken = _uncontained(installation, config)
    for name in config.servers:
        if name in live:
            yield from _listed(config, name, live[name])
        elif name not in broken and (unfetched := _unfetched(config, name)) is not None:
            yield from failed(f"servers/{name}", unfetched)
        elif name not in broken:
            what = "it is not started, because it cannot be contained"
            yield Diagnosis.skip(f"servers/{name}", what)
        for each in broken.get(name, ()):
            is_told = isinstance(each, ContainedServerError | FetchError | GatewayError | UnpermittedError)
            fix = "" if is_told else _by_hand(config, name)
            yield from failed(f"servers/{name}", each, fix)
    yield from _renamed(live)
    yield from _drift(installation, live, told)
    yield from containment(config, survey(config.sandbox.program, near=config.directory))
    yield from what_stands_open(config, Path.home())
    yield from _reach(installation, config)
    yield from _tried(told, config.path, str(Path.home().resolve()))


def _listed(config: ServerConfig, name: str, server: ListedServer) -> Iterator[Diagnosis]:
    """Tell how many tools a server lists, and of each entry of its lists that is left out."""
    yield Diagnosis.ok(f"servers/{name}", f"{_lists(config, name)} {counted(len(server), 'tool')}")
    fix = "The others are offered. Tell whoever makes the server, or take another version of it."
    for problem in server.problems:
        yield Diagnosis.warn(f"servers/{name}", problem, fix)


def _renamed(live: Tools) -> Iterator[Diagnosis]:
    """Tell which tools clients see under another name."""
    for text in renamed_tools((name, tool.name) for name, listed in live.items() for tool in listed):
        yield Diagnosis.ok("servers", text)


def _live(
    installation: Installation, config: ServerConfig, say: Callable[[str], None]
) -> tuple[Tools, dict[str, list[IronCurtainError]]]:
    """Start the servers as the proxy does; without a bundle that can be used, as a compile does."""
    try:
        read = Bundle.read(installation.bundle)
        return list_as_proxied(
            read,
            installation.bundle,
            config,
            say,
            sandbox=installation.workspace,
            timeout=installation.timeout,
        )
    except (BundleIntegrityError, NewerFormatError, RefusedRootError, BundleRelationError):
        return list_reachable(config, contained_launcher(say), timeout=installation.timeout)


def _lists(config: ServerConfig, name: str) -> str:
    """Say where a server's tools were read."""
    return "declares" if config.servers[name].gateway else "starts and lists"


def _unfetched(config: ServerConfig, name: str) -> FetchError | None:
    """Return why a server that is not started could not be: it is not what was fetched, or nothing was."""
    try:
        if name in config.installed:
            config.installed[name].check()
    except FetchError as error:
        return error
    return None


def _own(installation: Installation) -> Iterator[Diagnosis]:
    """Look who else could change the configuration: a proxy refuses to start with it."""
    try:
        check_own(installation.servers, "the servers' file")
    except IronCurtainError as error:
        yield from failed("servers", error)


def _uncontained(
    installation: Installation, config: ServerConfig
) -> tuple[Tools, dict[str, list[IronCurtainError]]]:
    """Read the servers that need not be contained."""
    free = [name for name, each in config.servers.items() if each.sandbox is False or not each.command]
    return list_reachable(config, contained_launcher(lambda _: None), only=free, timeout=installation.timeout)


def _tried(told: list[str], file: Path, home: str) -> Iterator[Diagnosis]:
    """Return what servers tried while they started, and were refused."""
    for text in [text for text in told if ": sandbox: " in text][:_MOST_TRIED]:
        fix = (
            "Let it, if it should: allowWrite or allowedDomains in its entry "
            "(`ironcurtain error sandbox`); or remove it."
        )
        match = _VIOLATION.fullmatch(text)
        mends = offer_for(match["server"], match["what"], file, home) if match is not None else ""
        fix = f"Let it, if it should: {mends}; or remove it." if mends else fix
        yield Diagnosis.warn("sandbox", text, fix)


def containment(config: ServerConfig, found: ProgramSurvey) -> Iterator[Diagnosis]:
    """Hold what this machine can do against what the configuration wants."""
    started = {name: each for name, each in config.servers.items() if each.command}
    wanted = [name for name, each in started.items() if each.sandbox is not False]
    policy = config.sandbox.policy
    for name in [name for name in started if name not in wanted]:
        yield Diagnosis.warn(
            "sandbox",
            f"server {visible(name)} runs uncontained, because the configuration says so",
            f'Take "sandbox": false out of its entry in {visible(config.path.name)}.',
        )
    if not wanted:
        return
    for missing in found.missing:
        fix = next((fix for what, fix in _FIXES if what in missing), "Run the proxy on Linux or macOS.")
        yield Diagnosis(
            name="sandbox",
            status="fail" if policy == "enforce" else "warn",
            what=missing if policy == "enforce" else f"servers run uncontained: {missing}",
            fix=fix,
            code=SandboxMissingError.code,
        )
    if found.programs is not None:
        yield Diagnosis.ok("sandbox", f"{counted(len(wanted), 'server')} can be contained")
        yield from _node(found.programs)


def what_stands_open(config: ServerConfig, home: Path) -> Iterator[Diagnosis]:
    """Tell of every contained server what keys and sign-ins it can read, and how much is hidden of them."""
    settings = config.sandbox.filesystem
    inputs = SandboxInputs(
        home=home, workspace=None, own=(), protected=(), directory=config.directory, settings=settings
    )
    contained = {
        name: each for name, each in config.servers.items() if each.command and each.sandbox is not False
    }
    for name, server in contained.items():
        shown = ", ".join(visible(str(path)) for path in shown_sign_ins(server, inputs))
        if shown:
            yield Diagnosis.warn(
                "sandbox",
                f"server {visible(name)} can read keys or sign-ins: {shown}",
                "Name single files in allowRead and allowWrite, or take these out "
                "(`ironcurtain error sandbox`).",
            )
    hidden = sum(path.exists() for path in sign_ins(home))
    if contained:
        shown = counted(hidden, "place of keys and sign-ins is", "places of keys and sign-ins are")
        what = f"of the home {shown} hidden from every server"
        yield Diagnosis.ok("sandbox", what)


def _reach(installation: Installation, config: ServerConfig) -> Iterator[Diagnosis]:
    """Hold what the rules permit against what the sandboxes let through."""
    try:
        content = PolicyContent.of(Bundle.read(installation.bundle))
    except IronCurtainError:
        yield Diagnosis.skip("sandbox", "what rules permit is not known without a bundle")
        return
    yield from reach(content, config, Path.home())


def _node(programs: Programs) -> Iterator[Diagnosis]:
    """Look whether Node.js is as new as the sandbox runtime needs it."""
    try:
        words = [programs.node, "--version"]
        said = run(words, cwd=Path.cwd(), environment=os.environ, timeout=_SECONDS).stdout.decode()
    except (OSError, UnicodeDecodeError):
        said = ""
    match = _VERSION.match(said)
    if match is None or int(match.group(1)) < _OLDEST_NODE:
        shown = visible(said.strip()) or "none that tells its version"
        yield Diagnosis.fail(
            "sandbox",
            f"{visible(programs.node)} is {shown}, and the sandbox runtime needs {_OLDEST_NODE}",
            f"Install Node.js {_OLDEST_NODE} or newer.",
            code=SandboxMissingError.code,
        )


def _by_hand(config: ServerConfig, name: str) -> str:
    server = config.servers[name]
    if not server.command:
        return f"Correct the entry of {name} in {config.path.name}."
    command = visible(shlex.join(words_without_secrets([server.command, *server.args])))
    return f"Start it by hand in {visible(str(config.directory / (server.cwd or '')))}: `{command}`."


def _drift(installation: Installation, live: Tools, notes: list[str]) -> Iterator[Diagnosis]:
    try:
        content = PolicyContent.of(Bundle.read(installation.bundle))
    except IronCurtainError:
        yield Diagnosis.skip("drift", "the bundle cannot be read")
        return
    recorded = recorded_servers(installation.bundle.parent, live)
    report = drift(content, live, text_findings, recorded)
    if NARROWER in notes:
        yield Diagnosis.skip("drift", NARROWER, "Start the proxy, then look again.")
    for one in report.tools:
        place = f"{one.server}/{visible(one.tool)}"
        told = "".join(f"; {printable(text)}" for text in one.texts)
        if one.kind == "added":
            fix = f"Run `ironcurtain servers add {one.server}`, then compile, to let it be used."
            what = f"{place} is not in the policy: every call is denied{told}"
            yield Diagnosis.warn("drift", what, fix)
        else:
            how = "is gone" if one.kind == "gone" else f"changed ({' and '.join(one.changed)})"
            hidden = "" if one.kind == "gone" else ", so the proxy hides it"
            where = f": {printable(one.difference)}" if one.difference else ""
            fix = "Read `ironcurtain drift`, then annotate and compile again"
            fix += "." if one.kind == "gone" else f"; {confirm_line(one.server, one.varying)}."
            what = f"{place} {how} since{hidden}{where}{told}"
            yield Diagnosis.fail("drift", what, fix)
    for text in report.beside:
        what = withheld_words(text.server, text.deviation)
        shown = what or f"{text.server}: {text.deviation.shown} is gone"
        fix = "Read it (`ironcurtain drift`), then annotate and compile."
        yield Diagnosis(name="drift", status="fail" if what else "warn", what=shown, fix=fix)
    for name in report.unpinned_beside:
        what = f"{name}: not pinned, so clients get them whatever they say"
        yield Diagnosis.warn("drift", what, "Compile again.")
    if not report.is_drifted:
        yield Diagnosis.ok("drift", f"{report.unchanged} tools are as annotated")
