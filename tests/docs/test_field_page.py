"""The results of the field run are of the rows that `tests/field/field.toml` has, each in its version."""

from __future__ import annotations

from field.report import RESULTS
from field.rows import Package, load


def test_each_row_has_a_result_in_its_version() -> None:
    """A row that changed is run again: `make field NAMES=…`."""
    lines = RESULTS.read_text().splitlines()
    rows: dict[str, Package] = {**load().servers, **load().clients}
    missing = [
        name
        for name, row in rows.items()
        if not any(line.startswith(f"| {name} | {row.name} {row.version}") for line in lines)
    ]
    assert missing == []


def test_there_are_thirty_servers_and_ten_clients_of_both_registries() -> None:
    rows = load()
    assert (len(rows.servers) >= 30, len(rows.clients) >= 10) == (True, True)
    for each in (rows.servers, rows.clients):
        assert {row.npm is None for row in each.values()} == {True, False}
