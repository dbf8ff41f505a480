"""What running proxies tell of themselves, for `ironcurtain status`."""

from __future__ import annotations

from typing import Literal

from ironcurtain.engine.remote_nodes import NodeStatus
from ironcurtain.system.frozen import Frozen


class ServerStatus(Frozen):
    """One server behind a proxy.

    Attributes:
        tools: How many tools it listed when it was last up.
        hidden: How many of these the client does not see: no call of them could be permitted, or they are
            not what was annotated.
        withheld: Which tools are hidden and why, and what else of it clients do not get: a sentence each.
        reason: Why it is down; empty while it is up.
        refused: What its sandbox refused it since its start, and what mends that: a sentence each.
        starting: Whether it is not up yet, and has not failed: servers start with the first client.
    """

    name: str
    up: bool
    tools: int
    hidden: int
    withheld: tuple[str, ...] = ()
    reason: str = ""
    refused: tuple[str, ...] = ()
    starting: bool = False


class ProxyStatus(Frozen):
    """One proxy, as it was at most a few seconds ago.

    Attributes:
        session: The session's name, which is its audit log's, too.
        pid: The proxy's process.
        since: When it started.
        revision: The policy that is enforced.
        observe: Whether it refuses nothing.
        servers: In the order of their configuration.
        pending: How many requests no person has settled.
        decisions: How many calls were decided within the last minute.
        trouble: Why every call is refused now: its audit log cannot be written; empty while it can.
        notice: What its person should know before calls are refused; empty where that is nothing.
        nodes: The OPAs that decide, if others run them.
        http: Where clients reach it, if it serves over HTTP; None as long as it does not listen.
    """

    format: Literal["ironcurtain/proxy-status/v1"] = "ironcurtain/proxy-status/v1"
    session: str
    pid: int
    since: str
    revision: str
    observe: bool
    servers: tuple[ServerStatus, ...]
    pending: int
    decisions: int
    trouble: str = ""
    notice: str = ""
    nodes: tuple[NodeStatus, ...] = ()
    http: str | None = None


class Status(Frozen):
    """The proxies that run."""

    format: Literal["ironcurtain/status/v1"] = "ironcurtain/status/v1"
    proxies: tuple[ProxyStatus, ...]
