"""The decision matrix as a heat map: tools by places, each cell with its verdicts as letters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from urllib.parse import urlencode

from ironcurtain.analysis.matrix.report import Matrix, Row
from ironcurtain.analysis.matrix.witnesses import MatrixCell
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct, asdict

MOST_PLACES = 40
LETTERS = {Verdict.ALLOW: "A", Verdict.ESCALATE: "E", Verdict.DENY: "D"}


class HeatCell(Struct):
    """What becomes of one tool's subjects of a role in one place.

    Attributes:
        verdicts: Those that occur, each with its letter and a clause behind it, if there is one.
        clauses: The clauses behind them.
        is_sampled: Whether a verdict may be missing.
    """

    of: MatrixCell
    verdicts: tuple[tuple[str, str, str | None], ...]
    clauses: frozenset[str]
    is_sampled: bool

    @property
    def query(self) -> str:
        """The cell in an address."""
        return urlencode(asdict(self.of))


class HeatRow(Struct):
    """A tool and a role, with a cell for each place; None where the tool has none of its own there."""

    tool: str
    role: str
    cells: tuple[HeatCell | None, ...]


class Heat(Struct):
    """A part of the heat map of one server.

    Attributes:
        begin: How many places stand before the first one here.
        total: How many places there are.
    """

    server: str
    places: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    begin: int
    total: int


def heat_map(matrix: Matrix, server: str, clause: str = "", begin: int = 0, most: int = MOST_PLACES) -> Heat:
    """Return the heat map of a server.

    Args:
        matrix: The decision matrix.
        server: The server.
        clause: Leaves the places where it decides something; all places where it is empty.
        begin: Leaves so many places out at the beginning.
        most: Shows so many places.
    """
    rows: dict[tuple[str, str], dict[str, HeatCell]] = {}
    for tool, role, where, row in _places(matrix, server):
        rows.setdefault((tool, role), {})[where] = _cell(MatrixCell(server, tool, role, where), row)
    found = dict.fromkeys(
        where
        for cells in rows.values()
        for where, cell in cells.items()
        if not clause or clause in cell.clauses
    )
    all_of_them = sorted(found)
    places = tuple(all_of_them[begin : begin + most])
    listed = tuple(
        HeatRow(tool, role, tuple(cells.get(where) for where in places))
        for (tool, role), cells in sorted(rows.items())
        if any(where in cells for where in places)
    )
    return Heat(server, places, listed, begin, len(all_of_them))


def has_cell(matrix: Matrix, cell: MatrixCell) -> bool:
    """Tell whether the decision matrix has a cell."""
    wanted = (cell.tool, cell.role, cell.where)
    return any(found[:3] == wanted for found in _places(matrix, cell.server))


def _places(matrix: Matrix, server: str) -> Iterator[tuple[str, str, str, Row]]:
    for table in matrix.servers.get(server, ()):
        for row in table.rows:
            for tool, role, where in itertools.product(table.tools, row.roles, row.where):
                yield tool, role, where, row


def _cell(of: MatrixCell, row: Row) -> HeatCell:
    behind = {outcome.verdict: outcome.clause for outcome in reversed(row.outcomes)}
    return HeatCell(
        of,
        tuple((verdict.value, LETTERS[verdict], behind[verdict]) for verdict in Verdict if verdict in behind),
        frozenset(outcome.clause for outcome in row.outcomes if outcome.clause is not None),
        row.exactness != "exact",
    )
