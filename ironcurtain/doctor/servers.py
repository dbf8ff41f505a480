"""Do the servers start, are their tools as annotated, and can they be contained?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.doctor.subject import Subject, failed
from ironcurtain.errors import IronCurtainError
from ironcurtain.evidence.drift import drift
from ironcurtain.model.doctor import Diagnosis
from ironcurtain.pipeline.tool_texts import text_findings
from ironcurtain.sandbox.programs import Survey, survey
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.servers.listing import Tools, list_reachable
from ironcurtain.text import printable, visible

_FIXES = (
    ("bubblewrap (bwrap)", "Run `apt-get install bubblewrap`."),
    ("socat", "Run `apt-get install socat`."),
    ("ripgrep (rg)", "Run `apt-get install ripgrep`."),
    ("Node.js (node)", "Install Node.js 20 or newer."),
    ("sandbox-runtime", "Run `npm install @anthropic-ai/sandbox-runtime`."),
    (
        "namespaces",
        "Let bubblewrap make user namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`.",
    ),
)


def servers(subject: Subject) -> Iterator[Diagnosis]:
    """Read the configuration, start each server, list its tools, and hold them against the bundle."""
    try:
        config = load_servers(subject.servers)
    except IronCurtainError as error:
        yield from failed("servers", error)
        return
    live, broken = list_reachable(config, timeout=subject.timeout)
    for name in config.servers:
        if name in live:
            yield Diagnosis(
                name=f"servers/{name}", status="ok", what=f"starts and lists {len(live[name])} tools"
            )
        for each in broken.get(name, ()):
            yield from failed(f"servers/{name}", each, _by_hand(config, name))
    yield from _drift(subject, live)
    yield from containment(config, survey(config.sandbox.program, near=config.directory))


def containment(config: ServerConfig, found: Survey) -> Iterator[Diagnosis]:
    """Hold what this machine can do against what the configuration wants."""
    wanted = [name for name, each in config.servers.items() if each.command and each.sandbox is not False]
    if not wanted or config.sandbox.policy == "skip":
        yield Diagnosis(
            name="sandbox",
            status="warn",
            what="the configuration lets servers run uncontained",
            fix=f'Take "sandbox": false, or the policy "skip", out of {config.path.name}.',
        )
    elif found.programs is not None:
        yield Diagnosis(name="sandbox", status="ok", what=f"{len(wanted)} servers can be contained")
    for missing in found.missing if wanted and config.sandbox.policy != "skip" else ():
        fix = next((fix for what, fix in _FIXES if what in missing), "Run the proxy on Linux or macOS.")
        status = "fail" if config.sandbox.policy == "enforce" else "warn"
        yield Diagnosis.model_validate({"name": "sandbox", "status": status, "what": missing, "fix": fix})


def _by_hand(config: ServerConfig, name: str) -> str:
    server = config.servers[name]
    if not server.command:
        return f"Correct the entry of {name} in {config.path.name}."
    command = visible(shlex.join([server.command, *server.args]))
    return f"Start it by hand in {visible(str(config.directory / (server.cwd or '')))}: `{command}`."


def _drift(subject: Subject, live: Tools) -> Iterator[Diagnosis]:
    try:
        content = PolicyContent.of(Bundle.read(subject.bundle))
    except IronCurtainError:
        yield Diagnosis(name="drift", status="skip", what="the bundle cannot be read")
        return
    report = drift(content, live, text_findings)
    for one in report.tools:
        place = f"{one.server}/{visible(one.tool)}"
        told = "".join(f"; {printable(text)}" for text in one.texts)
        if one.kind == "added":
            fix = f"Run `ironcurtain servers add {one.server}`, then compile, to let it be used."
            what = f"{place} is not in the policy: every call is denied{told}"
            yield Diagnosis(name="drift", status="warn", what=what, fix=fix)
        else:
            how = "is gone" if one.kind == "gone" else f"changed ({' and '.join(one.changed)})"
            fix = "Read `ironcurtain drift`, then annotate and compile again."
            yield Diagnosis(name="drift", status="fail", what=f"{place} {how} since{told}", fix=fix)
    if not report.tools:
        yield Diagnosis(name="drift", status="ok", what=f"{report.unchanged} tools are as annotated")
