"""What `ironcurtain wrap` and `unwrap` print, and what they remember of a client's configuration."""

from __future__ import annotations

from typing import Literal

from ironcurtain.system.frozen import Digest, Frozen, JsonValue, ServerName


class LeftServer(Frozen):
    """A server that the client goes on starting by itself.

    Attributes:
        reason: Why, in one sentence.
        outside: Whether the agent thereby has tools that no policy governs, and nobody asked for it.
    """

    name: str
    reason: str
    outside: bool


class ClientReport(Frozen):
    """What was done, or with `--dry-run` would be done, to a client's configuration.

    Attributes:
        client: The client's name, or `file`.
        file: The file, as it was named; a link's target is what was changed.
        status: `wrapped`, `unwrapped`, or `unchanged`; `would-wrap` and `would-unwrap` for a dry run.
        moved: The servers that run behind the proxy, or that went back.
        left: The other ones.
        entry: The client's server `ironcurtain`, if there is one now.
        text: The same in the format of the client's file.
        servers: The `mcp-servers.json` that the proxy reads, if there is one now.
        kept: Files that were kept so that nothing is lost: the backup; what was edited.
        notes: One sentence each.
        diff: The change of the file as a unified diff; empty if there is none.
    """

    format: Literal["ironcurtain/client-report/v1"] = "ironcurtain/client-report/v1"
    client: str
    file: str
    status: Literal["wrapped", "unwrapped", "unchanged", "would-wrap", "would-unwrap"]
    moved: tuple[str, ...] = ()
    left: tuple[LeftServer, ...] = ()
    entry: dict[str, JsonValue] | None = None
    text: str = ""
    servers: str | None = None
    kept: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    diff: str = ""


class WrapRecord(Frozen):
    """What belongs to one wrap of a file; it lies beside the backup.

    Attributes:
        file: The file's real path.
        pointer: The keys that lead to its servers.
        moved: The servers that run behind the proxy.
        original: Digest of the file before.
        wrapped: Digest of the file after.
        servers: Digest of `mcp-servers.json` as it follows from the client's file.
        mode: The file's permissions.
        secrets: The names under which the system's key store has what the files beside this one leave out.
    """

    format: Literal["ironcurtain/wrap-record/v1"] = "ironcurtain/wrap-record/v1"
    file: str
    pointer: tuple[str, ...]
    moved: tuple[ServerName, ...]
    original: Digest
    wrapped: Digest
    servers: Digest
    mode: int
    secrets: tuple[str, ...] = ()
