"""The servers of a proxy, started before what speaks to them is loaded, and what they need: log and sandbox.

It is loaded while the engine starts: all that is imported for it, servers wait for.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import AsyncExitStack
from functools import partial

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.enforcement.audit.log import AuditLog, open_first_free
from ironcurtain.enforcement.audit.log_paths import audit_directory, default_key_path, make_key, session_log
from ironcurtain.enforcement.calls.audit_options import AuditOptions
from ironcurtain.enforcement.calls.run_blocking import run_blocking
from ironcurtain.enforcement.proxy.options import LoadedFiles, ProxyOptions
from ironcurtain.enforcement.proxy.surroundings import note_enforced, sandbox_inputs
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.policy import Policy
from ironcurtain.system.structs import Struct

_MOST_SESSIONS = 9


class StartedServers(Struct):
    """Servers to which nothing has been said, and the log of what is decided about them.

    Attributes:
        audit_options: What the log keeps.
        log: The log, open.
        launcher: Starts the servers, or has started them.
    """

    audit_options: AuditOptions
    log: AuditLog
    launcher: SandboxLauncher


async def start(options: ProxyOptions, loaded: LoadedFiles, stack: AsyncExitStack) -> StartedServers:
    """Open the log, then start the servers if a client waits for them; both end with the stack.

    Raises:
        UsageError: If a role that is to be redacted is none.
        AuditError: If the log is not what was written, or another process writes it.
        SandboxMissingError: If servers cannot be contained and the configuration wants it.
    """
    config, policy = loaded.config, loaded.policy
    audit_options = AuditOptions(make_key(default_key_path()), options.audit_values, options.audit_redact)
    audit_options.check(policy)
    log = await _open_log(options, policy, audit_options.key, stack)
    inputs = sandbox_inputs(
        config,
        PolicyContent.of(policy.bundle),
        policy.loaded.deployment,
        bundle=options.bundle,
        files=options.files.values(),
        observe=options.observe,
    )
    launcher = await run_blocking(partial(SandboxLauncher.open, config, inputs))
    stack.push_async_callback(launcher.end_early)
    await run_blocking(partial(note_enforced, config, policy.revision))
    if options.http is None:  # there, nobody may come for hours
        await launcher.start_early()
    return StartedServers(audit_options, log, launcher)


async def _open_log(options: ProxyOptions, policy: Policy, key: bytes, stack: AsyncExitStack) -> AuditLog:
    """Open the session's log until the stack is closed; a name of our own that is taken gets a number."""
    opened = partial(AuditLog, key=key, max_bytes=options.audit_max_bytes, limit=options.audit_limit)
    if options.session is not None:
        return await stack.enter_async_context(opened(session_log(audit_directory(), options.session)))
    deployment = policy.loaded.deployment
    meant = [options.bundle.absolute(), options.servers.absolute(), deployment.home, deployment.sandbox]
    name = "s-" + hashlib.sha256(repr([str(each) for each in meant]).encode()).hexdigest()[:12]
    numbered = [f"{name}-{number}" for number in (*range(2, _MOST_SESSIONS), os.getpid())]
    places = [session_log(audit_directory(), each) for each in (name, *numbered)]
    return await open_first_free((opened(place, patience=0.0) for place in places), stack)
