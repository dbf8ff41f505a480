"""How much a turn and a session may use, and when that is told and enforced."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from ironcurtain.compiler.llm.access import Price
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.structs import Struct

WARNED_AT = Decimal("0.8")


class Used(Frozen):
    """What was used.

    Attributes:
        steps: Answers of the model, each with the calls that it asks for.
        tokens: Input and output together.
        seconds: From the beginning, with the time that people took.
        cost: US dollars; None where nobody knows the model's price.
    """

    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0
    cost: Decimal | None = Decimal(0)

    def __add__(self, other: Used) -> Used:
        """Return what both used together; a cost that is not known makes the sum unknown."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Used(
            steps=self.steps + other.steps,
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
            cost=cost,
        )


class Limits(Struct):
    """The most that may be used; None is no limit.

    Attributes:
        steps: Answers of the model.
        tokens: Input and output together.
        seconds: Time, with the time that people take.
        cost: US dollars; needs a model whose price is known.
    """

    steps: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    cost: Decimal | None = None

    def __str__(self) -> str:
        """Return the limits as people read them."""
        named = [
            f"{_amount(most)} {_WORDS[name]}"
            for name in self.__struct_fields__
            if (most := getattr(self, name)) is not None
        ]
        return ", ".join(named) or "without limits"

    def share(self, used: Used) -> dict[str, Decimal]:
        """Return, of each limit, the share that is used."""
        shares = {}
        for name in self.__struct_fields__:
            most, spent = getattr(self, name), getattr(used, name)
            if most is not None and spent is not None:
                shares[name] = Decimal(spent) / Decimal(most)
        return shares


TURN = Limits(steps=100)
"""The limits of a turn, unless told otherwise."""
NO_LIMITS = Limits()
_WORDS = {"steps": "steps", "tokens": "tokens", "seconds": "seconds", "cost": "US dollars"}


class LimitReachedError(Exception):
    """A limit is reached: the turn ends, the session goes on."""


class Budget:
    """Holds what is used to the limits of a turn or a session.

    Args:
        whose: `turn` or `session`, for what people are told.
        limits: The limits.
    """

    def __init__(self, whose: str, limits: Limits) -> None:
        self._whose, self._limits = whose, limits
        self._warned: set[str] = set()

    @property
    def seconds(self) -> float | None:
        """The most seconds."""
        return self._limits.seconds

    def check(self, used: Used) -> list[str]:
        """Return a sentence for each limit of which four fifths are used for the first time.

        Raises:
            LimitReachedError: If a limit is reached.
        """
        warnings = []
        for name, share in self._limits.share(used).items():
            if share >= 1:
                raise LimitReachedError(self.told(name))
            if share >= WARNED_AT and name not in self._warned:
                self._warned.add(name)
                warnings.append(self.told(name, _amount(getattr(used, name))))
        return warnings

    def told(self, name: str, used: str = "All") -> str:
        """Return the sentence that says how much of a limit is used."""
        most = f"{_amount(getattr(self._limits, name))} {_WORDS[name]}"
        return f"{used} of the {most} of this {self._whose} are used."


def first_out_of_time(budgets: Iterable[tuple[Budget, float]]) -> tuple[float | None, str]:
    """Return after how many seconds the first of some budgets has none left, and the sentence that says so.

    Args:
        budgets: Each with the seconds of it that are used already.
    """
    ends = [
        (budget.seconds - used, budget.told("seconds"))
        for budget, used in budgets
        if budget.seconds is not None
    ]
    return min(ends, default=(None, ""))


def _amount(value: float | Decimal) -> str:
    return f"{value:,.1f}".removesuffix(".0") if isinstance(value, float) else f"{value:,}"


def cost_of(price: Price | None, input_tokens: int, output_tokens: int) -> Decimal | None:
    """Return the price of an answer in US dollars; None where nobody knows it."""
    return None if price is None else price.cost(input_tokens, output_tokens)
