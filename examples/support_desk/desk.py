"""The support desk's database: SQLite, one file, made with a few customers where there is none."""

import os
import sqlite3
from pathlib import Path

FILE = Path(os.environ.get("SUPPORT_DESK", Path(__file__).parent / "desk.sqlite"))

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, email TEXT, card TEXT, city TEXT);
CREATE TABLE tickets (id TEXT PRIMARY KEY, customer INTEGER, title TEXT, state TEXT);
CREATE TABLE notes (ticket TEXT, author TEXT, text TEXT);
INSERT INTO customers VALUES (1, 'Ada Lovelace', 'ada@example.com', '4111 1111 1111 1111', 'London');
INSERT INTO customers VALUES (2, 'Blaise Pascal', 'blaise@example.org', '5500 0000 0000 0004', 'Paris');
INSERT INTO tickets VALUES ('SUP-1', 1, 'The engine does not start', 'open');
INSERT INTO tickets VALUES ('SUP-2', 2, 'A wheel is missing', 'closed');
INSERT INTO tickets VALUES ('HR-1', 2, 'A question about holidays', 'open');
INSERT INTO notes VALUES ('SUP-1', 'desk', 'Asked for a picture.');
"""


def connect() -> sqlite3.Connection:
    """Open the database, and make it first where there is none."""
    is_new = not FILE.exists()
    connection = sqlite3.connect(FILE)
    connection.row_factory = sqlite3.Row
    if is_new:
        connection.executescript(SCHEMA)
    return connection


def rows(query: str, *values: object) -> list[dict[str, object]]:
    """Return the rows of a query."""
    with connect() as connection:
        return [dict(row) for row in connection.execute(query, values)]


def change(query: str, *values: object) -> int:
    """Change rows; return how many."""
    with connect() as connection:
        return connection.execute(query, values).rowcount
