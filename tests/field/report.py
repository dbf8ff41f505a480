"""The tables of a field run, made of the results that are kept of all rows; `docs/field.md` explains them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from statistics import median

from field.clients import ClientResult
from field.place import HOMES, ROOT
from field.rows import ClientRow, Package, Rows, ServerRow
from field.servers import ServerResult
from pydantic import BaseModel

RESULTS = ROOT / "tests" / "field" / "results.md"
_LONGEST = 600


class Kept(BaseModel):
    """A row's result, as it is kept.

    Attributes:
        version: The package's, with which it was run.
        date: When, in UTC.
        revision: The commit of IronCurtain.
        load: The machine's, when it ended.
    """

    version: str
    date: str
    revision: str
    load: float | None = None
    server: ServerResult | None = None
    client: ClientResult | None = None


def page(rows: Rows, kept: Mapping[str, Kept]) -> str:
    """Return the tables, with when and where the rows were run."""
    runs = sorted({(each.date, each.revision) for each in kept.values()})
    when = " and ".join(dict.fromkeys(date for date, _ in runs))
    loads = [each.load for each in kept.values() if each.load is not None]
    revisions = ", ".join(dict.fromkeys(f"`{revision}`" for _, revision in runs))
    servers = [_server(name, row, kept[name].server) for name, row in rows.servers.items() if name in kept]
    clients = [_client(name, row, kept[name].client) for name, row in rows.clients.items() if name in kept]
    head = ("tools", "equal", "time to the tools", "remarks")
    return "\n".join(
        [
            f"Run on {when}, with IronCurtain at {revisions}, on a machine of {os.cpu_count()} processors",
            f"whose load was {min(loads):.1f} to {max(loads):.1f}; above that number, all wait in turn.",
            "\n## Servers\n",
            _summary(rows, kept),
            "",
            *_table(("server", "package", *head), servers),
            "\n## Clients\n",
            *_table(("client", "package", *head), clients),
            "",
        ]
    )


def line(name: str, row: Package, result: ServerResult | ClientResult) -> str:
    """Return a row's result for a terminal."""
    if isinstance(result, ServerResult) and isinstance(row, ServerRow):
        cells = _server(name, row, result)
    elif isinstance(result, ClientResult) and isinstance(row, ClientRow):
        cells = _client(name, row, result)
    return f"{cells[0]:20} {cells[2]:>14}  {cells[3]:8} {cells[4]:>24}  {cells[5]}"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('--' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _server(name: str, row: ServerRow, result: ServerResult | None) -> tuple[str, ...]:
    assert result is not None
    package = f"{row.name} {row.version}{'*' if row.fetched else ''}"
    direct, wrapped = result.direct, result.wrapped
    if direct.tools is None:
        return name, package, "none", "", "", f"does not run here: {row.own or short(direct.message)}"
    tools = f"{len(direct.tools)}, {len(wrapped.tools or [])}"
    if wrapped.tools is None or wrapped.message:
        remarks = [f"**fails**: {short(wrapped.message)}"]
    else:
        remarks = [f"refused: {short(result.refusal)}"] if result.refusal else []
        if not result.equal and not result.refusal:
            reason = row.differs or f"{short(str(direct.result))} / {short(str(wrapped.result))}"
            remarks.append(f"differs: {reason}")
    remarks += [short(line) for line in result.hidden]
    remarks += dict.fromkeys(f"mended by `{_option(command)}`" for command in result.mended)
    equal = "yes" if result.equal else "no"
    return name, package, tools, equal, _times(result.times), "; ".join(remarks)


def _client(name: str, row: ClientRow, result: ClientResult | None) -> tuple[str, ...]:
    assert result is not None
    package = f"{row.name} {row.version}"
    if result.direct.tools is None:
        return name, package, "none", "", "", f"does not run here: {row.own or short(result.direct.message)}"
    tools = ", ".join("+".join(map(str, side)) for side in result.listed)
    failures = [
        f"**{how} fails**: {row.own or short(use.message)}"
        for how, use in (("direct", result.direct), ("wrapped", result.wrapped))
        if use.message
    ]
    by_hand = [f"entry put in by hand: {short(result.by_hand)}"] if result.by_hand else []
    remarks = "; ".join(failures + by_hand)
    return name, package, tools, "yes" if result.equal else "no", _times(result.times), remarks


def ratio(times: tuple[list[float], list[float]]) -> float | None:
    """Return how much longer it takes wrapped; None if it was not measured."""
    return median(times[1]) / median(times[0]) if all(times) else None


def _times(times: tuple[list[float], list[float]]) -> str:
    found = ratio(times)
    if found is None:
        return ""
    return f"{median(times[0]):.1f} s, {median(times[1]):.1f} s ({found:.1f} times)"


def _summary(rows: Rows, kept: Mapping[str, Kept]) -> str:
    results = {name: kept[name].server for name in rows.servers if name in kept}
    run = {name: each for name, each in results.items() if each and each.direct.tools is not None}
    equal = [name for name, each in run.items() if each.equal]
    mended = [name for name in equal if run[name].mended]
    own = [name for name, each in run.items() if each.wrapped.result and rows.servers[name].differs]
    lines = [
        f"{len(results)} servers, of which {len(run)} run here directly. Behind the proxy",
        f"- {len(equal)} give the same, {len(mended)} of them after a command that the failure named;",
        f"- {len(set(own) - set(equal))} differ for the reason that stands in their row;",
        f"- {len(run.keys() - {*equal, *own})} fail or differ otherwise.\n",
    ]
    for registry in ("pypi", "npm"):
        ratios = [
            found
            for name, each in run.items()
            if getattr(rows.servers[name], registry) and (found := ratio(each.times)) is not None
        ]
        if ratios:
            lines.append(
                f"Time to the tools of {len(ratios)} from {registry}: {median(ratios):.1f} times as long"
                f" in the median, {min(ratios):.1f} to {max(ratios):.1f} times."
            )
    return "\n".join(lines)


def _option(command: str) -> str:
    """Return what a command gives a server, without the names of this run's files."""
    words = re.sub(r" --servers \S+", "", command).replace("ironcurtain ", "")
    return short(words)


def short(text: str) -> str:
    """Return a message on one line, without places of this machine."""
    line = " ".join(text.split())
    line = re.sub(re.escape(str(HOMES)) + r"/[\w-]+/[dw]\b", "~", line).replace(f"{ROOT}/", "")
    line = re.sub(r"~/\.ironcurtain/clients/\S+?/mcp-servers\.json", "FILE", line)
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST // 2]} … {line[-_LONGEST // 2 :]}"
    return line.replace("<", "&lt;")
