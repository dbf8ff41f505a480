"""What one run of the proxy is given: its options, its client where that is code of this process, its files.

All parts of a run take these, and each of them is loaded at a time of its own (`runner.py`); so little is
imported here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ironcurtain.enforcement.approvals.places import default_paths
from ironcurtain.enforcement.audit.log_paths import audit_directory, default_key_path
from ironcurtain.enforcement.calls.enforcer_options import EnforcerOptions
from ironcurtain.enforcement.proxy.configuration import Mark
from ironcurtain.policy import Policy
from ironcurtain.servers.config import ServerConfig
from ironcurtain.settings import user_directory
from ironcurtain.system.private_runtime import runtime_directory
from ironcurtain.system.structs import Struct

if TYPE_CHECKING:
    from mcp.server import Server

    from ironcurtain.bundle.domain import Domain
    from ironcurtain.enforcement.approvals.broker_directory import RequestListener
    from ironcurtain.enforcement.audit.record_types import RecordListener
    from ironcurtain.enforcement.facts.user.words import UserWords
    from ironcurtain.enforcement.proxy.transport.http import Address
    from ironcurtain.enforcement.proxy.transport.http_clients import HttpClients
    from ironcurtain.enforcement.proxy.transport.tokens import Tokens


class ProxyOptions(EnforcerOptions, kw_only=True):
    """What the command line says.

    Attributes:
        servers: `mcp-servers.json`.
        http: Where to listen; None serves standard input and output.
        clients: Who may connect there, by their tokens; None asks nobody.
        telemetry: Whether decisions are told to OpenTelemetry, too.
        witness: Where the log's progress is told of, outside its directory; None for nowhere.
        tokens: Which signed tokens say whom a client over HTTP acts for; None where they show none.
        domain: Which tools and permissions this deployment has; None for all.
    """

    servers: Path
    http: Address | None = None
    clients: HttpClients | None = None
    telemetry: bool = False
    witness: Path | None = None
    tokens: Tokens | None = None
    domain: Domain | None = None


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
