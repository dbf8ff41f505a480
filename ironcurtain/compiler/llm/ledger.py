"""Tokens and cost of the calls of one run, by question and in total, held to a budget."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from decimal import Decimal

from ironcurtain.compiler.llm.access import Price
from ironcurtain.compiler.llm.call import ModelRequest, Usage
from ironcurtain.compiler.llm.question import Question
from ironcurtain.errors import BudgetReachedError
from ironcurtain.system.structs import Struct


class Spent(Struct):
    """What some calls used.

    Attributes:
        calls: Calls that were answered, or may be billed although they broke off.
        cost: US dollars of the calls whose price is known.
        unpriced: How many calls have no known price.
        estimated: How many calls have estimated tokens, which are upper ones.
    """

    calls: int = 0
    input: int = 0
    output: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0
    estimated: int = 0

    def __add__(self, other: Spent) -> Spent:
        """Return what both used together."""
        return Spent(
            self.calls + other.calls,
            self.input + other.input,
            self.output + other.output,
            self.cost + other.cost,
            self.unpriced + other.unpriced,
            self.estimated + other.estimated,
        )

    def __sub__(self, other: Spent) -> Spent:
        """Return what was used since `other`."""
        return Spent(
            self.calls - other.calls,
            self.input - other.input,
            self.output - other.output,
            self.cost - other.cost,
            self.unpriced - other.unpriced,
            self.estimated - other.estimated,
        )

    @property
    def tokens_text(self) -> str:
        """`12,345 + 678`: tokens in and out, with a `~` where some are estimated."""
        return f"{'~' if self.estimated else ''}{self.input:,} + {self.output:,}"

    @property
    def cost_text(self) -> str:
        """`$0.0712`, `unknown`, or `$0.0712 + unknown`."""
        known = f"{'~' if self.estimated else ''}${self.cost:.4f}"
        if not self.unpriced:
            return known
        return "unknown" if self.unpriced == self.calls else f"{known} + unknown"

    def __str__(self) -> str:
        """Render as one phrase of a report."""
        calls = "1 call" if self.calls == 1 else f"{self.calls} calls"
        return f"{calls}, {self.tokens_text} tokens, cost {self.cost_text}"


@dataclass
class LedgerEntry:
    """One question that is or was asked.

    Attributes:
        state: What is being done about it now, or empty when it is answered.
        begun: When it was asked first, on the monotonic clock.
        ended: When it was answered, or None.
    """

    stage: str
    about: str
    state: str = "asking"
    spent: Spent = field(default_factory=Spent)
    begun: float = field(default_factory=time.monotonic)
    ended: float | None = None

    @property
    def seconds(self) -> float:
        """How long it has taken until now."""
        return (self.ended or time.monotonic()) - self.begun


class Ledger:
    """The book of one run; several providers (compile, judge) share it.

    Args:
        budget: US dollars that the run may cost at most; None means no limit.
    """

    def __init__(self, budget: Decimal | None = None) -> None:
        self.budget = budget
        self.entries: list[LedgerEntry] = []

    @property
    def total(self) -> Spent:
        """What was used until now."""
        return sum((entry.spent for entry in list(self.entries)), Spent())

    def open(self, question: Question) -> LedgerEntry:
        """Begin to ask a question."""
        entry = LedgerEntry(question.stage, question.key.removeprefix(f"{question.stage}-"))
        self.entries.append(entry)
        return entry

    def close(self, entry: LedgerEntry) -> None:
        """Note that a question is answered."""
        entry.state, entry.ended = "", time.monotonic()

    def charge(self, entry: LedgerEntry, usage: Usage, price: Price | None) -> None:
        """Write down a call."""
        entry.spent += Spent(
            calls=1,
            input=usage.input,
            output=usage.output,
            cost=price.cost(usage.input, usage.output) if price else Decimal(0),
            unpriced=0 if price else 1,
            estimated=int(usage.estimated),
        )

    def require(self, question: Question, request: ModelRequest, price: Price | None) -> None:
        """Make sure that the budget bears a call, even if its answer is as long as it may be.

        Raises:
            BudgetReachedError: If it may not, or nobody can tell.
        """
        if self.budget is None:
            return
        at_most = price.cost(request.tokens_at_most(), request.max_tokens) if price else None
        spent = self.total.cost
        if at_most is None or spent + at_most > self.budget:
            cost = "an unknown sum" if at_most is None else f"up to ${at_most:.4f}"
            raise BudgetReachedError(
                f"question {question.key} was not asked: it may cost {cost}, ${spent:.4f} of "
                f"${self.budget:.2f} are spent",
                hint="Answers that were paid for are kept: compile again with a larger --max-cost.",
            )
