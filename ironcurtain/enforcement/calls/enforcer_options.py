"""How calls are enforced, whoever makes them; little is imported here, as for `proxy.options`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ironcurtain.enforcement.approvals.approvers import Approvers
from ironcurtain.enforcement.audit.log_paths import LIMIT, MAX_BYTES
from ironcurtain.enforcement.calls.repeated_calls import MOST as MOST_REPEATS
from ironcurtain.enforcement.facts import clock
from ironcurtain.policy import Policy
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field

if TYPE_CHECKING:
    from ironcurtain.enforcement.approvals.hook import HookCommand
    from ironcurtain.enforcement.calls.audit_options import LoggedValues
    from ironcurtain.enforcement.facts.totals.store_place import StorePlace
    from ironcurtain.gateway.principal import Principal


class EnforcerOptions(Struct, kw_only=True):
    """What an enforcer is put together by, beside where calls go.

    Attributes:
        load: Reads and checks the bundle: `Policy.load` with all but `late` given. Called for the start
            (late) and for every reload.
        bundle: Where it reads it from.
        files: What else it is configured by and nobody else may write, by what it is.
        session: Name of the session; None makes one from bundle, servers and sandbox.
        patience: Seconds that a call is held while a person decides.
        seconds: Seconds that a person has to answer.
        repeats: How often the same call may come within a minute; 0 for any number.
        approver: Whether anybody can be asked.
        on_approval: What is run when a call waits for a person; None tells nobody.
        client_person: Whether whoever sits at the client may approve.
        approvers: The people behind the names that rules use.
        caller: Facts about whom the agent acts for.
        observe: Decide and record, enforce nothing.
        audit_values: Whether the log keeps the values of calls.
        audit_redact: Roles whose values the log redacts whole.
        audit_max_bytes: Size at which a segment of the log ends.
        audit_limit: Size of the whole log at which every call is refused.
        principal: Whom the agent acts for, where the start configuration says it.
        state: Where totals of callers are kept; None for a file of the user's own.
        now: The clock of declared facts, in UTC; records of the log have the machine's own time.
    """

    load: Callable[..., Policy]
    bundle: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    session: str | None = None
    patience: float = 45.0
    seconds: float = 600.0
    repeats: int = MOST_REPEATS
    approver: bool = True
    on_approval: HookCommand | None = None
    client_person: bool = False
    approvers: Approvers = field(default_factory=Approvers)
    caller: Mapping[str, JsonValue] = field(default_factory=dict)
    observe: bool = False
    audit_values: LoggedValues = "redacted"
    audit_redact: frozenset[str] = frozenset()
    audit_max_bytes: int = MAX_BYTES
    audit_limit: int = LIMIT
    principal: Principal | None = None
    state: StorePlace | None = None
    now: Callable[[], datetime] = clock.now
