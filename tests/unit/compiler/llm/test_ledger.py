"""Counting what calls cost, and words for it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ironcurtain.compiler.llm.access import Price
from ironcurtain.compiler.llm.call import Message, ModelRequest, Usage
from ironcurtain.compiler.llm.ledger import Ledger, Spent
from ironcurtain.compiler.llm.question import Question
from ironcurtain.errors import BudgetReachedError

QUESTION = Question("rules", "rules-files", "", "", {}, lambda _: [])
PRICE = Price(input=Decimal(3), output=Decimal(15))


@pytest.mark.parametrize(
    ("spent", "text"),
    [
        (Spent(1, 1000, 200, Decimal("0.006")), "1 call, 1,000 + 200 tokens, cost $0.0060"),
        (Spent(2, 1000, 200, Decimal(0), unpriced=2), "2 calls, 1,000 + 200 tokens, cost unknown"),
        (
            Spent(2, 1000, 200, Decimal("0.006"), unpriced=1),
            "2 calls, 1,000 + 200 tokens, cost $0.0060 + unknown",
        ),
        (Spent(1, 1, 2, Decimal(1), estimated=1), "1 call, ~1 + 2 tokens, cost ~$1.0000"),
    ],
)
def test_words(spent: Spent, text: str) -> None:
    assert str(spent) == text


def test_the_total_is_the_sum_of_all_questions_and_differences_are_stages() -> None:
    ledger = Ledger()
    first = ledger.open(QUESTION)
    ledger.charge(first, Usage(1000, 200), PRICE)
    before = ledger.total
    second = ledger.open(QUESTION)
    ledger.charge(second, Usage(10, 20), PRICE)
    ledger.charge(second, Usage(1, 2, estimated=True), None)
    assert first.about == "files"
    assert ledger.total == first.spent + second.spent
    assert ledger.total - before == Spent(3 - 1, 11, 22, Decimal("0.00033"), 1, 1)


def test_a_request_is_taken_for_as_many_tokens_as_it_has_bytes_at_least() -> None:
    turns = (Message("user", "[[1,2],[3,4]]"), Message("assistant", "漢字"), Message("user", "no"))
    request = ModelRequest("system", turns, {"enum": ["a"]}, 1)
    assert request.tokens_at_most() > 6 + 13 + 6 + 2 + len('{"enum":["a"]}')


def test_a_budget_holds_exactly() -> None:
    request = ModelRequest("", (Message("user", "x" * 2000),), {}, 1000)
    at_most = PRICE.cost(request.tokens_at_most(), 1000)
    Ledger(at_most).require(QUESTION, request, PRICE)
    with pytest.raises(BudgetReachedError):
        Ledger(at_most - Decimal("0.000001")).require(QUESTION, request, PRICE)
    with pytest.raises(BudgetReachedError, match="an unknown sum"):
        Ledger(at_most).require(QUESTION, request, None)
    Ledger().require(QUESTION, request, None)
