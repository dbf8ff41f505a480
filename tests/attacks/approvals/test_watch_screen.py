"""Text of a call that makes rows of its own on the screen where calls are answered, or moves what is chosen.

In a real terminal, of 50 and of 200 columns: rows are forged by line breaks, escapes, tabs, wide letters, and
text from right to left; keys are typed before there is a question.

Held by: rows in which only our own words begin a line, a choice that is kept by its id, and dropping what was
typed before.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import anyio
import pytest
from attacks.approvals.test_terminals import TMUX, Pane, asked, pane
from support.deployments.proxied import wait_for
from support.records.approvals import Rendezvous, written

from ironcurtain.enforcement.approvals.describe import describe
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.approvals.request import Clock

pytestmark = pytest.mark.skipif(TMUX is None, reason="there is no tmux, which is the terminal")
FAKE = "0123456789abcdef  9:59 left   s read_file  reads"
FORGED = {
    "a line break": f"/srv/\n> {FAKE}",
    "a carriage return": f"/srv/\r> {FAKE}",
    "an escape": f"/srv/\x1b[2J\x1b[H> {FAKE}",
    "next line, line and page separators": f"/srv/\x85\u2028\u2029\x0c\x0b> {FAKE}",
    "the edge of the terminal": f"/srv/{'x' * 17}" + f"  > {FAKE}" * 3,
    "wide letters": "/srv/" + "日本語" * 13 + f"> {FAKE}",
    "text from right to left": f"/srv/\u202e{FAKE[::-1]} שלום {FAKE}",
    "tags and zero width": f"/srv/\u200b\U000e0041> {FAKE}",
    "tabs": f"/srv/\t\t\t\t\t\t\t\t> {FAKE}",
}


@pytest.fixture
def place(tmp_path: Path) -> Rendezvous:
    tmp_path.chmod(0o700)
    return Rendezvous(tmp_path, Clock())


def forged(text: str) -> ApprovalRequest:
    subjects = tuple(each.model_copy(update={"value": text}) for each in written().subjects)
    return written().model_copy(update={"subjects": subjects, "reason": text, "tool": f"t {text}"})


def drawn(terminal: Pane) -> list[str]:
    return terminal.tmux("capture-pane", "-p").rstrip("\n").splitlines()


@pytest.mark.parametrize("columns", [50, 200])
@pytest.mark.parametrize("how", FORGED)
def test_a_row_that_nobody_asked_for(how: str, columns: int, place: Rendezvous) -> None:
    request = forged(FORGED[how])
    with asked(place, request), pane(place, ["--watch"], columns) as terminal:
        terminal.until(request.id)
        screen = drawn(terminal)
    assert screen[0] == "1 call waits for you."
    rows = [line for line in screen if re.match(r"[> ] [0-9a-f]{16}  ", line)]
    assert [row[2:18] for row in rows] == [request.id]
    start = screen.index(rows[0])
    others = [line for line in screen[start + 1 :] if line != "  (Enter shows the rest)"]
    assert all(re.match(r"      [|:] ", line) for line in others)
    assert len([line for line in screen if line.startswith(">")]) == 1


def test_more_rows_than_the_screen_has_keep_what_is_chosen_in_sight(place: Rendezvous) -> None:
    requests = [written(f"/srv/{n}") for n in range(40)]
    with asked(place, *requests), pane(place, ["--watch"], 50) as terminal:
        terminal.until("below)")
        terminal.tmux("send-keys", *["Down"] * 25)
        terminal.until(f"> {requests[25].id}")
        screen = drawn(terminal)
    assert screen[0] == "40 calls wait for you."
    assert any(re.fullmatch(r"  \(\d+ above\)", line) for line in screen)
    assert any(re.fullmatch(r"  \(\d+ below\)", line) for line in screen)


def test_a_request_that_comes_while_enter_is_pressed_is_not_the_one_that_is_read(place: Rendezvous) -> None:
    """The new one sorts first: the row under the finger is another, the choice is not."""
    mine = written("/srv/mine")
    late = written("/srv/late")
    late = late.model_copy(update={"asked": mine.asked.replace(microsecond=0), "id": "0" * 16})
    with asked(place, mine) as directory, pane(place, ["--watch"], 80) as terminal:
        terminal.until(f"> {mine.id}")
        anyio.run(directory.ask, late)
        terminal.until(late.id)
        assert [line[2:18] for line in drawn(terminal) if " left " in line] == [late.id, mine.id]
        terminal.tmux("send-keys", "Enter")
        shown = terminal.until("request ")
    assert f"request {mine.id}" in shown
    assert f"request {late.id}" not in shown


def turned(terminal: Pane) -> bool:
    """Type an answer and turn the page; tell whether the question has come."""
    terminal.tmux("send-keys", "approve", "Space")
    time.sleep(0.2)  # what is typed before a page is shown does not turn it
    return "leavesitwaiting" in "".join(terminal.lines()).replace(" ", "")


def test_what_was_typed_before_the_end_of_the_request_is_no_answer(place: Rendezvous) -> None:
    request = written(content="line\n" * 40)
    with asked(place, request), pane(place, ["--watch"], 80) as terminal:
        terminal.until(request.id)
        terminal.tmux("send-keys", "Enter", "approve", "Enter", "approve", "Enter")
        terminal.until("space shows more")
        wait_for(lambda: turned(terminal))
        time.sleep(0.5)
        assert not place.response(request.id).exists()
        terminal.tmux("send-keys", "no", "Enter")
        terminal.until("was not answered")
    assert not place.response(request.id).exists()


@pytest.mark.parametrize("columns", [24, 40, 80])
def test_lines_that_the_question_pushes_out_of_sight(place: Rendezvous, columns: int) -> None:
    """As many lines as fill the pages: what follows a page must not move the first of them away."""
    requests = (written(content="line\n" * count) for count in range(2, 30))
    request = next(each for each in requests if len(describe(each, width=columns).splitlines()) % 13 == 0)
    with asked(place, request), pane(place, ["--watch"], columns) as terminal:
        terminal.until(request.id)
        terminal.tmux("send-keys", "Enter")
        wait_for(lambda: drawn(terminal)[-1].endswith("--"))
        wait_for(lambda: drawn(terminal)[0] == f"request {request.id}")
        wait_for(lambda: turned(terminal))
        wait_for(lambda: _is_in_sight(terminal.lines(), drawn(terminal)))


def _is_in_sight(whole: list[str], screen: list[str]) -> bool:
    """Tell whether the screen shows all that stands behind the last question for more."""
    last = max(n for n, line in enumerate(whole) if line.endswith("--"))
    return len(screen) >= len(whole) - last - 1


def test_an_answer_before_the_end_was_in_sight(place: Rendezvous) -> None:
    request = written(content="line\n" * 300)
    with asked(place, request), pane(place, ["--watch"], 80) as terminal:
        terminal.until(request.id)
        terminal.tmux("send-keys", "Enter")
        shown = terminal.until("space shows more")
        assert not any("Type approve" in line for line in shown)
        terminal.tmux("send-keys", "q")
        terminal.until("1 call waits")
        assert not any("Type approve" in line for line in terminal.lines())
