"""What progress looks like in a pipe and on a terminal."""

from __future__ import annotations

import io
import re
from decimal import Decimal

import pytest

from ironcurtain.cli.output.live_progress import LiveTable
from ironcurtain.cli.output.progress import Lines, for_terminal
from ironcurtain.compiler.llm.access import Price
from ironcurtain.compiler.llm.call import Usage
from ironcurtain.compiler.llm.ledger import Ledger
from ironcurtain.compiler.llm.question import Question
from ironcurtain.compiler.progress import Progress, Stages

PRICE = Price(input=Decimal(3), output=Decimal(15))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def report(progress: Progress, ledger: Ledger) -> None:
    stages = Stages(progress, 2)
    with stages.stage("load") as summary:
        summary.append("4 clauses")
    with stages.stage("annotate") as summary:
        entry = ledger.open(Question("annotate", "annotate-notes-1", "", "", {}, lambda _: []))
        ledger.charge(entry, Usage(1000, 200), PRICE)
        ledger.close(entry)
        summary.append("2 tools")
    progress.show("finding: a [bold]\x1b[2J tool")
    progress.close()


def test_in_a_pipe_each_stage_is_one_line() -> None:
    stream, ledger = io.StringIO(), Ledger()
    report(for_terminal(stream, ledger), ledger)
    lines = [re.sub(r"\d+\.\d s", "0.0 s", line) for line in stream.getvalue().splitlines()]
    assert lines[0] == "1/2 load: 4 clauses (0.0 s)"
    assert lines[1] == "2/2 annotate: 2 tools; 1 call, 1,000 + 200 tokens, cost $0.0060 (0.0 s)"
    assert lines[3] == "model: 1 call, 1,000 + 200 tokens, cost $0.0060"
    assert lines[2] == "finding: a [bold]\\x1b[2J tool"
    assert len(lines) == 4


def test_without_calls_nothing_is_said_about_them() -> None:
    stream = io.StringIO()
    progress = Lines(stream)
    progress.close()
    assert stream.getvalue() == ""


def test_on_a_terminal_there_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    stream, ledger = Terminal(), Ledger()
    progress = for_terminal(stream, ledger)
    assert isinstance(progress, LiveTable)
    report(progress, ledger)
    shown = stream.getvalue()
    last = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown[shown.rindex("stage") :])
    rows = [re.sub(r"\d+\.\d s", "0.0 s", " ".join(line.split())) for line in last.splitlines()]
    assert rows[:5] == [
        "stage server calls tokens in + out cost elapsed",
        "1/2 load 4 clauses 0.0 s",
        "2/2 annotate 2 tools 1 1,000 + 200 $0.0060 0.0 s",
        "notes-1 1 1,000 + 200 $0.0060 0.0 s",
        "all 1 1,000 + 200 $0.0060",
    ]
    assert "finding: a [bold]\\x1b[2J tool" in shown
    assert "\x1b[2J" not in shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown)


def test_a_dumb_terminal_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(for_terminal(Terminal(), Ledger()), Lines)
