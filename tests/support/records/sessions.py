"""A session on disk: a policy, calls decided by the real engine, and their audit log."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.replay.pseudonymization import AbstractSanitizer
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.signing.keys import read_private_key
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.approvals.request import new_request
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import LogPaths, session_log
from ironcurtain.enforcement.audit.record_types import Approval
from ironcurtain.enforcement.audit.recorder import Observed, Recorder, RecordSanitizer
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.json_text import digest_bytes
from support.projects.policies import annotations_of, compiled, rule, tool
from support.records.audited import KEY

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "mode": {"type": "string"}},
    "required": ["path"],
}
RULES = [
    rule("read-docs", "allow", tool=["read"], paths={"roles": ["read-path"], "within": ["~/docs"]}),
    rule("ask-elsewhere", "escalate", tool=["read"], paths={"roles": ["read-path"], "within": ["~"]}),
    rule("no-delete", "deny", tool=["remove"]),
]


@dataclass(frozen=True)
class Session:
    """A directory with home, sandbox, a bundle and audit logs."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def options(self) -> list[str]:
        """The options that say where the calls were recorded."""
        return ["--home", str(self.home), "--sandbox", str(self.root / "box")]

    @property
    def audit(self) -> Path:
        return self.root / "audit"

    def bundle(
        self, rules: list[dict[str, Any]], name: str = "bundle.tar.gz", key: Path | None = None
    ) -> str:
        """Write the bundle of rules, signed where a key is named; return its path."""
        path = self.root / name
        path.write_bytes(bundle_of(rules, key).archive())
        return str(path)

    def record(
        self,
        name: str,
        paths: list[str],
        *,
        abstract: bool = False,
        rules: list[dict[str, Any]] = RULES,
        out_of_reach: tuple[str, ...] = (),
        observed: Observed | None = None,
        key: Path | None = None,
        mode: str | None = None,
    ) -> LogPaths:
        """Record reads of paths below home (and one refused deletion) as a session's log.

        Those of `out_of_reach` are refused as the proxy refuses what a server's sandbox does not reach.
        """
        seen = observed or Observed()
        bundle = bundle_of(rules, key)
        return record(
            self,
            name,
            paths,
            abstract=abstract,
            bundle=bundle,
            out_of_reach=out_of_reach,
            observed=seen,
            mode=mode,
        )


def make_session(root: Path) -> Session:
    """Make the directories of a session, and the log's key."""
    for name in ("home/docs", "home/work/deep", "box"):
        (root / name).mkdir(parents=True)
    (root / "key").write_text(KEY.hex())
    (root / "key").chmod(0o600)
    return Session(root)


def bundle_of(rules: list[dict[str, Any]], key: Path | None = None) -> Bundle:
    """Return the bundle of rules over two tools, one that reads and one that removes."""
    clauses = [{"id": id_, "text": "As said."} for id_ in sorted({each["clause"] for each in rules})]
    read = {**tool("read", path=["read-path"], mode=["none"]), "input_schema": SCHEMA}
    remove = tool("remove", path=["delete-path"])
    made = assemble(
        compiled(rules, clauses=clauses),
        annotations_of({"files": [read, remove]}),
        registry=Registry(),
        release=Release(engine_version="test"),
    )
    return made if key is None else sign(made, read_private_key(key))


def request_of(session: Session, path: str, log: str) -> ApprovalRequest:
    """Return the request about a read of a path below home that a session under RULES asks a person about."""
    site = Deployment(home=str(session.home), sandbox=str(session.root / "box"))
    bundle = bundle_of(RULES)
    loaded = LoadedPolicy(PolicyContent.of(bundle), site, ThisHost(home=site.home, git_environ={}))
    ready = prepare(Call("files", "read", {"path": f"~/{path}"}), loaded)
    decision = decide_prepared({"it": ready}, bundle, loaded, OpaCommand(find()))["it"]
    annotation = loaded.annotation("files", "read")
    assert isinstance(ready, Prepared)
    assert annotation is not None
    return new_request(decision, ready, annotation, session=log)


def record(
    session: Session,
    name: str,
    paths: list[str],
    *,
    abstract: bool,
    bundle: Bundle,
    out_of_reach: tuple[str, ...],
    observed: Observed,
    mode: str | None,
) -> LogPaths:
    site = Deployment(home=str(session.home), sandbox=str(session.root / "box"))
    loaded = LoadedPolicy(PolicyContent.of(bundle), site, ThisHost(home=site.home, git_environ={}))
    content = PolicyContent.of(bundle)

    def sanitizer(key: bytes) -> RecordSanitizer:
        return AbstractSanitizer(content, loaded, key)

    digest = digest_bytes(bundle.archive())
    recorder = Recorder(content, loaded, bundle=digest, key=KEY, sanitizer=sanitizer if abstract else None)
    more = {"mode": mode} if mode is not None else {}
    calls = [Call("files", "read", {"path": f"~/{path}", **more}) for path in paths]
    calls.append(Call("files", "remove", {"path": "~/docs/x"}))
    prepared = {f"{number:04d}": prepare(call, loaded) for number, call in enumerate(calls)}
    decisions = decide_prepared(prepared, bundle, loaded, OpaCommand(find()))
    refused = {"verdict": Verdict.DENY, "rule": ReservedRule.SANDBOX_OUT_OF_REACH.value}
    for number, path in enumerate(paths):
        if path in out_of_reach:
            id_ = f"{number:04d}"
            decisions[id_] = decisions[id_].model_copy(update=refused)
    place = session_log(session.audit, name)

    async def write() -> None:
        async with AuditLog(place, key=KEY) as log:
            await log.event(recorder.event("start", revision=bundle.revision))
            for (id_, ready), call in zip(prepared.items(), calls, strict=True):
                decision = decisions[id_]
                approval = None
                if decision.verdict is Verdict.ESCALATE:
                    approval = Approval(state="approved", approver="ada", verdict=Verdict.ALLOW)
                forwarded = decision.verdict is not Verdict.DENY
                record = recorder.decision(
                    call,
                    ready,
                    decision,
                    id_=f"id{id_}",
                    forwarded=forwarded,
                    approval=approval,
                    observed=observed,
                )
                await log.decision(record)
                if forwarded:
                    await log.result(recorder.result(f"id{id_}", "ok", result={"content": []}, duration=1.5))

    asyncio.run(write())
    return place
