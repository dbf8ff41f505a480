"""`ironcurtain approvals --watch` at a terminal: choose a call that waits, read all of it, answer it.

Keys move in the list and turn pages; an answer is a word, typed after the whole request was shown. The list
is drawn anew around the request that is chosen, by its id: a row that comes or goes changes no choice.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime

import click

from ironcurtain.enforcement.approvals.describe import WIDTH, describe, rows
from ironcurtain.enforcement.approvals.inbox import ApprovalInbox, PersonAnswer, Recorded
from ironcurtain.enforcement.approvals.messages import ApprovalRequest, ApprovalStatus
from ironcurtain.enforcement.approvals.typed_answer import choices, read_answer
from ironcurtain.errors import UsageError
from ironcurtain.system import terminal

_SECONDS = 0.5
_UNKNOWN = os.terminal_size((WIDTH, 24))
_HELP = "Up and down choose, Enter shows the whole call and takes your answer, q leaves."
_TURN = "-- {} of {} lines; space shows more, q goes back --"
_HOME, _TO_END_OF_LINE, _TO_END = "\x1b[H", "\x1b[K", "\x1b[J"

Telling = Callable[[ApprovalRequest, PersonAnswer, Recorded], str]


class Screen:
    """The list, and the person in front of it.

    Args:
        opened: Opens the approvals directory; None as long as no proxy has asked.
        told: Says what became of an answer, by what the directory made of it.
    """

    def __init__(self, opened: Callable[[], ApprovalInbox | None], told: Telling) -> None:
        self._opened, self._told = opened, told
        self._inbox: ApprovalInbox | None = None
        self._chosen = ""
        self._known: set[str] = set()
        self._note = self._drawn = ""

    def run(self) -> bool:
        """Watch and answer until the person leaves; return whether something still waits."""
        while (id_ := self._choose()) is not None:
            self._note = self._answer(id_)
        return any(each.state == "pending" for each in self._statuses())

    def _statuses(self) -> tuple[ApprovalStatus, ...]:
        self._inbox = self._inbox or self._opened()
        return self._inbox.statuses() if self._inbox is not None else ()

    def _choose(self) -> str | None:
        """Show the list until a request is chosen to be read; None when the person leaves."""
        click.clear()
        self._drawn = ""
        with terminal.keys():
            terminal.drop_what_was_typed()
            while True:
                statuses = self._statuses()
                self._follow(statuses)
                self._draw(statuses)
                pressed = terminal.key(_SECONDS)
                if pressed == "quit":
                    return None
                if pressed == "enter" and self._chosen:
                    return self._chosen
                self._move(statuses, {"up": -1, "down": 1}.get(pressed or "", 0))

    def _follow(self, found: tuple[ApprovalStatus, ...]) -> None:
        """Keep the choice where it is, and ring for what is new."""
        ids = [each.id for each in found]
        if self._chosen not in ids:
            self._chosen = ids[0] if ids else ""
        waiting = {each.id for each in found if each.state == "pending"}
        if not waiting <= self._known:
            click.echo("\a", nl=False, err=True)
        self._known |= waiting

    def _move(self, found: tuple[ApprovalStatus, ...], by: int) -> None:
        ids = [each.id for each in found]
        if self._chosen in ids:
            self._chosen = ids[min(max(0, ids.index(self._chosen) + by), len(ids) - 1)]

    def _draw(self, found: tuple[ApprovalStatus, ...]) -> None:
        size = terminal.size(sys.stdout, _UNKNOWN)
        width = size.columns - 1  # a terminal may break a line that fills it
        now = datetime.now(UTC)
        waiting = sum(each.state == "pending" for each in found)
        head = [*_wrapped(_waiting_words(waiting), width), *_wrapped(_HELP if found else "q leaves.", width)]
        head += [*_wrapped(self._note, width), ""]
        height = size.lines - len(head) - 1
        blocks = [_bounded(self._block(each, now, width), height - 2) for each in found]
        chosen = next((n for n, each in enumerate(found) if each.id == self._chosen), 0)
        lines = [*head, *_around(blocks, chosen, height)]
        drawn = _HOME + "".join(f"{line}{_TO_END_OF_LINE}\n" for line in lines) + _TO_END
        if drawn != self._drawn:
            click.echo(drawn, nl=False)
        self._drawn = drawn

    def _block(self, status: ApprovalStatus, now: datetime, width: int) -> list[str]:
        first, *others = rows(status, now, width - 2)
        mark = ">" if status.id == self._chosen else " "
        return [f"{mark} {first}", *(f"  {line}" for line in others)]

    def _answer(self, id_: str) -> str:
        """Show a whole request and take the person's answer; return what became of it."""
        status = self._inbox.status(id_) if self._inbox is not None else None
        if self._inbox is None or status is None:
            return f"{id_} is settled, or gone."
        if status.request is None:
            return f"{id_} cannot be shown: {status.problem}"
        question = f"Type {choices(status.request)}; anything else leaves it waiting."
        if not _read(describe(status.request, width=terminal.size(sys.stdout, _UNKNOWN).columns), question):
            return ""
        line = terminal.asks(question)
        try:
            answer = read_answer(line, status.request)
        except UsageError as error:
            return f"{id_} was not answered and still waits. {error.what if line else ''}".rstrip()
        return self._told(status.request, answer, self._inbox.answer(status.request, answer))


def _read(text: str, question: str) -> bool:
    """Show a text page by page, each with room for the question; tell whether its end was reached."""
    click.clear()
    lines = text.splitlines()
    at = 0
    with terminal.keys():
        while True:
            # What follows a page is broken by the terminal, and moves none of its lines out of sight.
            size = terminal.size(sys.stdout, _UNKNOWN)
            turn = _TURN.format(len(lines), len(lines))
            below = max(terminal.lines_of(each, size.columns) for each in (question, turn))
            page = max(1, size.lines - below)
            for line in lines[at : at + page]:
                click.echo(line)
            at += page
            if at >= len(lines):
                return True
            terminal.drop_what_was_typed()
            click.echo(_TURN.format(at, len(lines)))
            while (pressed := terminal.key(None)) not in {"space", "enter"}:
                if pressed == "quit":
                    return False


def _bounded(block: list[str], height: int) -> list[str]:
    """Return a row of at most so many lines."""
    most = max(2, height)
    return block if len(block) <= most else [*block[: most - 1], "  (Enter shows the rest)"]


def _around(blocks: list[list[str]], chosen: int, height: int) -> list[str]:
    """Return as many whole blocks around the chosen one as fit, and how many others there are."""
    if not blocks:
        return []
    first = last = chosen
    room = height - len(blocks[chosen]) - 2  # what is left out above and below takes a line each
    while True:
        if last + 1 < len(blocks) and len(blocks[last + 1]) <= room:
            last += 1
            room -= len(blocks[last])
        elif first > 0 and len(blocks[first - 1]) <= room:
            first -= 1
            room -= len(blocks[first])
        else:
            break
    above = [f"  ({first:,} above)"] if first else []
    below = [f"  ({len(blocks) - last - 1:,} below)"] if last + 1 < len(blocks) else []
    return [*above, *(line for block in blocks[first : last + 1] for line in block), *below]


def _waiting_words(count: int) -> str:
    if not count:
        return "Nothing waits for you."
    return "1 call waits for you." if count == 1 else f"{count:,} calls wait for you."


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width) if text else []
