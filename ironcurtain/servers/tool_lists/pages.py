"""Reading a list of a server page by page, each as the server wrote it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ironcurtain.servers.tool_lists.listed_tool import ListKind
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted

MAX_PAGES = 1_000
MAX_ENTRIES = 10_000
"""How many pages of one list, and entries in them, are read."""
_MAX_CURSOR = 100

Ask = Callable[[str, Mapping[str, JsonValue]], Awaitable[Mapping[str, Any]]]
"""Sends a request, by its method and its params, and returns its result as the server wrote it."""


async def read_pages(kind: ListKind, ask: Ask) -> tuple[list[JsonValue], tuple[str, ...]]:
    """Return the entries of a list, and why not all of it was read, if so: what came before is kept.

    Raises:
        ValueError: If a page is none of the protocol.
        Exception: As `ask` does.
    """
    entries: list[JsonValue] = []
    cursors: set[str] = set()
    params: dict[str, JsonValue] = {}
    while True:
        page = await ask(kind.method, params)
        listed, cursor = page.get(kind.member), page.get("nextCursor")
        if not isinstance(listed, list):
            raise ValueError(f"the answer to {kind.method} has no list {kind.member}")  # noqa: TRY004 - said of an answer
        entries += listed
        if cursor is None:
            return entries, ()
        if fault := _fault(cursor, cursors, len(entries)):
            return entries, (f"{kind.method} {fault}: what comes after it is left out",)
        cursors.add(cursor)
        params = {"cursor": cursor}


def _fault(cursor: object, cursors: set[str], entries: int) -> str:
    if not isinstance(cursor, str):
        return "names a cursor that is no text"
    if cursor in cursors:
        return f"names the cursor {quoted(cursor[:_MAX_CURSOR])} a second time"
    if len(cursors) + 1 >= MAX_PAGES:
        return f"has more than {MAX_PAGES:,} pages"
    return f"has more than {MAX_ENTRIES:,} entries" if entries > MAX_ENTRIES else ""
