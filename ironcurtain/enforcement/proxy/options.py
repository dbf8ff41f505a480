"""What one run of the proxy is given: its options, its client where that is code of this process, its files.

All parts of a run take these, and each of them is loaded at a time of its own (`runner.py`); so little is
imported here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironcurtain.enforcement.approvals.approvers import Approvers
from ironcurtain.enforcement.approvals.places import default_paths
from ironcurtain.enforcement.audit.log_paths import LIMIT, MAX_BYTES, audit_directory, default_key_path
from ironcurtain.enforcement.calls.repeated_calls import MOST as MOST_REPEATS
from ironcurtain.enforcement.facts import clock
from ironcurtain.enforcement.proxy.configuration import Mark
from ironcurtain.policy import Policy
from ironcurtain.servers.config import ServerConfig
from ironcurtain.settings import user_directory
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.private_runtime import runtime_directory
from ironcurtain.system.structs import Struct, field

if TYPE_CHECKING:
    from mcp.server import Server

    from ironcurtain.bundle.domain import Domain
    from ironcurtain.enforcement.approvals.broker_directory import RequestListener
    from ironcurtain.enforcement.approvals.hook import HookCommand
    from ironcurtain.enforcement.audit.record_types import RecordListener
    from ironcurtain.enforcement.calls.audit_options import LoggedValues
    from ironcurtain.enforcement.facts.totals.store_place import StorePlace
    from ironcurtain.enforcement.facts.user.words import UserWords
    from ironcurtain.enforcement.proxy.transport.http import Address
    from ironcurtain.enforcement.proxy.transport.http_clients import HttpClients
    from ironcurtain.enforcement.proxy.transport.tokens import Tokens
    from ironcurtain.gateway.principal import Principal


class ProxyOptions(Struct):
    """What the command line says.

    Attributes:
        load: Reads and checks the bundle: `Policy.load` with all but `late` given. Called for the start
            (late) and for every reload.
        bundle: Where it reads it from.
        servers: `mcp-servers.json`.
        files: What else it is configured by and nobody else may write, by what it is.
        session: Name of the session; None makes one from bundle, servers and sandbox.
        http: Where to listen; None serves standard input and output.
        clients: Who may connect there, by their tokens; None asks nobody.
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
        telemetry: Whether decisions are told to OpenTelemetry, too.
        witness: Where the log's progress is told of, outside its directory; None for nowhere.
        tokens: Which signed tokens say whom a client over HTTP acts for; None where they show none.
        domain: Which tools and permissions this deployment has; None for all.
        principal: Whom the agent acts for, where the start configuration says it.
        state: Where totals of callers are kept; None for a file of the user's own.
        now: The clock of declared facts, in UTC; records of the log have the machine's own time.
    """

    load: Callable[..., Policy]
    bundle: Path
    servers: Path
    files: Mapping[str, Path] = field(default_factory=dict)
    session: str | None = None
    http: Address | None = None
    clients: HttpClients | None = None
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
    telemetry: bool = False
    witness: Path | None = None
    tokens: Tokens | None = None
    domain: Domain | None = None
    principal: Principal | None = None
    state: StorePlace | None = None
    now: Callable[[], datetime] = clock.now


def own_places() -> list[Path]:
    """Return what no tool may touch beside bundle and configuration: the system's own files."""
    return [user_directory(), audit_directory(), default_key_path(), *default_paths(), runtime_directory()]


class InProcessClient(Struct):
    """A client that is code of this process: it gets the endpoint instead of a transport.

    Attributes:
        run: Uses the endpoint; when it returns, servers and engine end.
        records: Is told what is recorded.
        asked: Is told of each call that waits for a person; None tells nobody.
        words: What its user wrote; None if it does not know.
    """

    run: Callable[[Server[Any]], Awaitable[None]]
    records: RecordListener
    asked: RequestListener | None = None
    words: UserWords | None = None


class LoadedFiles(Struct):
    """What a proxy was configured by when it started.

    Attributes:
        config: The servers.
        policy: What is enforced first.
        mark: The state of the bundle that it is of, or of an older one.
    """

    config: ServerConfig
    policy: Policy
    mark: Mark | None
