"""Run real servers and clients directly and wrapped, and write `results.md`: `make field [NAMES="…"]`.

Rows that are not named keep the results that they had in this checkout; they say when each was.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence

from field import report, rows, servers
from field.clients import ClientResult, Field
from field.place import ROOT, SCRATCH

KEPT = SCRATCH / "results"


def main(wanted: Sequence[str]) -> None:
    """Run the rows that are wanted, or all; print a line for each, and write the tables."""
    known = rows.load()
    if strangers := set(wanted) - {*known.servers, *known.clients}:
        sys.exit(f"no such rows: {', '.join(sorted(strangers))}")
    KEPT.mkdir(parents=True, exist_ok=True)
    show(f"load before: {os.getloadavg()[0]:.2f}; {os.cpu_count()} processors")
    for name, server in known.servers.items():
        if not wanted or name in wanted:
            keep(name, server, server_result := servers.run(name, server))
            show(report.line(name, server, server_result))
    there = None
    for name, client in known.clients.items():
        if not wanted or name in wanted:
            there = there or Field()
            keep(name, client, client_result := there.run(name, client))
            show(report.line(name, client, client_result))
    kept = {path.stem: report.Kept.model_validate_json(path.read_text()) for path in KEPT.glob("*.json")}
    report.RESULTS.write_text(report.page(known, kept))


def keep(name: str, row: rows.Package, result: servers.ServerResult | ClientResult) -> None:
    """Keep a row's result, so that others can be run again without it."""
    revision = subprocess.run(
        ["git", "log", "-1", "--format=%h", "--", "ironcurtain"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    which = {"server" if isinstance(result, servers.ServerResult) else "client": result}
    date = time.strftime("%Y-%m-%d", time.gmtime())
    kept = report.Kept(version=row.version, date=date, revision=revision, load=os.getloadavg()[0], **which)
    (KEPT / f"{name}.json").write_text(kept.model_dump_json(indent=1))


def show(line: str) -> None:
    """Print a line as soon as it is there."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
