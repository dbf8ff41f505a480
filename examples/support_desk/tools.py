"""The support desk's tools: three that read, one that writes, one that destroys, one that runs a program."""

from pathlib import Path
from typing import Annotated

import desk
from pydantic import BaseModel, Field

from ironcurtain.gateway import Gateway, Is, cli_command, define_tool
from ironcurtain.model.annotations import IdentifierRole

LONG = 500
TICKET = IdentifierRole(name="ticket", description="A ticket of the desk.", case="exact", separator="-")
TicketId = Annotated[str, Is("ticket"), Field(pattern=r"^[A-Z]+-[0-9]+$")]


class TicketQuery(BaseModel):
    """Which ticket."""

    ticket: TicketId


class Customer(BaseModel):
    """A customer, as the database knows them."""

    id: int
    name: str
    email: str
    card: str
    city: str | None = None


class Note(BaseModel):
    """A note on a ticket."""

    author: str
    text: str


class Ticket(BaseModel):
    """A ticket, with everything that belongs to it."""

    id: str
    title: str
    state: str
    customer: Customer
    notes: list[Note]


class Search(BaseModel):
    """What to look for."""

    words: str = Field(min_length=2, max_length=100)
    limit: int = Field(default=10, ge=1, le=50)


class Found(BaseModel):
    """Tickets that were found."""

    tickets: list[Ticket]


class CustomerQuery(BaseModel):
    """Which customer."""

    id: int


class NewNote(BaseModel):
    """A note to add."""

    ticket: TicketId
    text: str = Field(min_length=1, max_length=2_000)


class Done(BaseModel):
    """What was changed."""

    changed: int


class LogQuery(BaseModel):
    """How much of the log."""

    lines: int = Field(default=5, ge=1, le=100)


class Text(BaseModel):
    """What a program wrote."""

    text: str


def _ticket(row: dict) -> dict:
    customer = desk.rows("SELECT * FROM customers WHERE id = ?", row["customer"])[0]
    notes = desk.rows("SELECT author, text FROM notes WHERE ticket = ?", row["id"])
    return {**row, "customer": customer, "notes": notes}


def find_ticket(query: TicketQuery) -> dict:
    """Return a ticket."""
    return _ticket(desk.rows("SELECT * FROM tickets WHERE id = ?", query.ticket)[0])


async def search(query: Search) -> dict:
    """Return the tickets whose titles hold some words."""
    found = desk.rows(
        "SELECT * FROM tickets WHERE title LIKE ? ORDER BY id LIMIT ?", f"%{query.words}%", query.limit
    )
    return {"tickets": [_ticket(row) for row in found]}


def find_customer(query: CustomerQuery) -> dict:
    """Return a customer."""
    return desk.rows("SELECT * FROM customers WHERE id = ?", query.id)[0]


def write_note(note: NewNote) -> Done:
    """Add a note to a ticket."""
    return Done(changed=desk.change("INSERT INTO notes VALUES (?, 'agent', ?)", note.ticket, note.text))


def remove_customer(query: CustomerQuery) -> Done:
    """Delete a customer."""
    return Done(changed=desk.change("DELETE FROM customers WHERE id = ?", query.id))


PEOPLE = {"..name": "mask", "..email": "mask", "..card": "redact"}

get_ticket = define_tool(
    name="get_ticket",
    description="Return a ticket with its customer and notes.",
    classification="read",
    permissions=["tickets:read"],
    input=TicketQuery,
    output=Ticket,
    output_policy={".id": "allow", ".title": "allow", ".state": "allow", ".notes": "allow", **PEOPLE},
    handler=find_ticket,
)
search_tickets = define_tool(
    name="search_tickets",
    description="Return the tickets whose titles hold some words.",
    classification="read",
    permissions=["tickets:read"],
    input=Search,
    output=Found,
    output_policy={".tickets[].id": "allow", ".tickets[].title": "allow", ".tickets[].state": "allow"},
    pii_fields=["words"],
    handler=search,
)
get_customer = define_tool(
    name="get_customer",
    description="Return a customer.",
    classification="read",
    permissions=["customers:read"],
    input=CustomerQuery,
    output=Customer,
    output_policy={".": "allow", **PEOPLE},
    handler=find_customer,
)
add_note = define_tool(
    name="add_note",
    description="Add a note to a ticket.",
    classification="write",
    permissions=["tickets:read", "tickets:write"],
    input=NewNote,
    output=Done,
    output_policy={".": "allow"},
    pii_fields=["text"],
    elevated_if=lambda note: len(note.text) > LONG,
    elevated_permissions=["tickets:write-long"],
    handler=write_note,
)
delete_customer = define_tool(
    name="delete_customer",
    description="Delete a customer for good.",
    classification="destructive",
    permissions=["customers:delete"],
    input=CustomerQuery,
    output=Done,
    output_policy={".": "allow"},
    handler=remove_customer,
)
desk_log = define_tool(
    name="desk_log",
    description="Return the last lines of the desk's log.",
    classification="read",
    permissions=["logs:read"],
    input=LogQuery,
    output=Text,
    output_policy={".text": "allow"},
    handler=cli_command(
        "tail", lambda query: [f"--lines={query.lines}", "--", "desk.log"], cwd=Path(__file__).parent
    ),
)

gateway = Gateway(
    "desk",
    [get_ticket, search_tickets, get_customer, add_note, delete_customer, desk_log],
    permissions=[
        "tickets:read",
        "tickets:write",
        "tickets:write-long",
        "customers:read",
        "customers:delete",
        "logs:read",
    ],
    roles=[TICKET],
)
