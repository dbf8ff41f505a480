"""Puts an enforcer together: the approvals directory, the session's facts, and what the caller brings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from anyio import to_thread

from ironcurtain.enforcement.approvals.broker_directory import ApprovalDirectory, RequestListener, nobody
from ironcurtain.enforcement.approvals.hook import Hook
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.approvals.places import default_paths
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import key_id
from ironcurtain.enforcement.audit.record_types import RecordListener
from ironcurtain.enforcement.calls.active_policy import ActivePolicy
from ironcurtain.enforcement.calls.approval_broker import ApprovalBroker, OpenRequest
from ironcurtain.enforcement.calls.declared_facts import DeclaredFacts
from ironcurtain.enforcement.calls.enforce import Enforcer, FindTool, unlimited
from ironcurtain.enforcement.calls.enforcer_options import EnforcerOptions
from ironcurtain.enforcement.calls.outputs import Outputs
from ironcurtain.enforcement.calls.path_locks import OtherProxies
from ironcurtain.enforcement.calls.reach import Reach
from ironcurtain.enforcement.calls.repeated_calls import RepeatedCallLimiter
from ironcurtain.enforcement.facts.gather import FactSources
from ironcurtain.enforcement.facts.memory import BEGINS, SessionMemory
from ironcurtain.enforcement.facts.totals.store import StoreError
from ironcurtain.enforcement.facts.totals.store_place import StorePlace
from ironcurtain.enforcement.facts.user.words import UserWords
from ironcurtain.enforcement.sandbox.watch import Confinement
from ironcurtain.gateway.admission import Admission
from ironcurtain.gateway.principal import Principal
from ironcurtain.system.private_runtime import shared_file
from ironcurtain.system.structs import Struct


class Surroundings(Struct):
    """What differs with who makes the calls, and where they go; as in `Enforcer`, if nothing is said.

    Attributes:
        asked: Is told of each call that waits for a person, unless a command is configured for that.
        words: What the user wrote; None where that is not known.
    """

    reach: Reach
    find_tool: FindTool
    confined: Callable[[str], Confinement]
    admission: Admission
    outputs: Outputs
    limited: Callable[[Principal], Principal] = unlimited
    listeners: tuple[RecordListener, ...] = ()
    asked: RequestListener = nobody
    words: UserWords | None = None


async def assemble(
    options: EnforcerOptions,
    live: ActivePolicy,
    log: AuditLog,
    surroundings: Surroundings,
    say: Callable[[str], None],
    stack: AsyncExitStack,
) -> Enforcer:
    """Return what enforces the policy for one session; what it opens ends with the stack.

    Raises:
        IronCurtainError: If the approvals directory, the session's memory or the totals cannot be used.
    """
    directory = _approvals(options, live, log, surroundings.asked, say, stack) if options.approver else None
    asking = OpenRequest(
        log.paths.session, options.patience, options.seconds, options.client_person, options.approvers
    )
    return Enforcer(
        policy=live,
        broker=ApprovalBroker(directory, asking),
        log=log,
        facts=await _facts(options, live, log, surroundings.words, say),
        breaker=RepeatedCallLimiter(options.repeats),
        confined=surroundings.confined,
        neighbours=OtherProxies(shared_file("turns")),
        reach=surroundings.reach,
        find_tool=surroundings.find_tool,
        caller=options.caller,
        observe=options.observe,
        listeners=surroundings.listeners,
        principal=options.principal,
        limited=surroundings.limited,
        admission=surroundings.admission,
        outputs=surroundings.outputs,
    )


async def record_start(enforcer: Enforcer, *, begins: bool) -> None:
    """Record that calls are enforced from now on; `begins` where no session of before goes on.

    Raises:
        AuditError: If that cannot be recorded.
    """
    current = enforcer.policy.current
    with anyio.CancelScope(shield=True):
        started = current.recorder.event("start", revision=current.policy.revision, observe=enforcer.observe)
        # Our own word, not a value of a call: it says which key the digests that follow are made with.
        detail = {**started.detail, "digests_by": key_id(current.audit_options.key)}
        detail |= BEGINS if begins else {}
        await enforcer.log.event(started.model_copy(update={"detail": detail}))


def _approvals(
    options: EnforcerOptions,
    live: ActivePolicy,
    log: AuditLog,
    told: RequestListener,
    say: Callable[[str], None],
    stack: AsyncExitStack,
) -> ApprovalDirectory:
    """Open the approvals directory, and tell of what waits there if there is a command for that."""
    deployment = live.current.loaded.deployment
    reachable = [
        Path(path) for path in (deployment.sandbox, *deployment.working_roots.values()) if path is not None
    ]
    directory_path, key = default_paths()

    def is_usable(request: ApprovalRequest) -> bool:
        return request.session != log.paths.session or log.is_usable(request.id, request.asked)

    def redacted(request: ApprovalRequest) -> ApprovalRequest:
        return live.current.recorder.redacted(request)

    if options.on_approval is not None:
        hook = Hook(options.on_approval, redacted, say)
        stack.callback(hook.close)
        told = hook.tell
    directory = ApprovalDirectory.open(
        directory_path,
        key,
        reachable=reachable,
        is_usable=is_usable,
        told=told,
        approvers=options.approvers,
    )
    return stack.enter_context(directory)


async def _facts(
    options: EnforcerOptions,
    live: ActivePolicy,
    log: AuditLog,
    words: UserWords | None,
    say: Callable[[str], None],
) -> DeclaredFacts:
    """Return where declared facts come from: the memory in the log, the totals where they are kept."""
    memory = await to_thread.run_sync(SessionMemory.of_log, log.paths, log.state)
    if options.session is None:
        memory.begin()
    place = options.state or StorePlace.parse(None)
    server = place.server()
    if server is not None:
        try:
            await to_thread.run_sync(server.check)
            say(f"totals are kept in {place.name}")
        except StoreError as error:
            say(f"{error}: until it can, calls that need a total are refused")
    totals = server or place.open(live.current.audit_options.key)
    return DeclaredFacts(FactSources(memory, totals, options.now, words), log)
