"""Measuring ratios within one run, and printing them beside their targets."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True)
class Times:
    """The seconds that one operation took, repetition by repetition."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)

    def per(self, other: Times) -> float:
        """Return how many times as long this one takes: the median over the repetitions, each by itself."""
        return median(mine / theirs for mine, theirs in zip(self.seconds, other.seconds, strict=True))

    def less(self, other: Times) -> Times:
        """Return what is left of it, repetition by repetition, without another one."""
        return Times(tuple(mine - theirs for mine, theirs in zip(self.seconds, other.seconds, strict=True)))

    def __str__(self) -> str:
        """Show the median with its quartiles, in milliseconds."""
        if len(self.seconds) == 1:
            return f"{self.median * 1e3:.4g} ms"
        low, middle, high = (f"{cut * 1e3:.3g}" for cut in quantiles(self.seconds, n=4, method="inclusive"))
        return f"{middle} ms ({low} to {high})"


class Figures:
    """Prints figures: what, measured, target, and whether it was reached."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self.missed: list[str] = []

    def add(self, figure: str, measured: float, target: float, detail: str) -> None:
        """Print one figure; it is reached if it is not above its target."""
        reached = measured <= target
        if not reached:
            self.missed.append(figure)
        self._show(f"{figure:<58} {measured:8.2f}  <= {target:<6g} {'ok ' if reached else 'NOT'}  {detail}")


def measure(*operations: Callable[[], object], repetitions: int) -> tuple[Times, ...]:
    """Time operations in turn, so that whatever else the machine does falls on all of them alike."""
    for operation in operations:
        operation()
    taken: list[list[float]] = [[] for _ in operations]
    for _ in range(repetitions):
        for operation, seconds in zip(operations, taken, strict=True):
            start = time.perf_counter()
            operation()
            seconds.append(time.perf_counter() - start)
    return tuple(Times(tuple(seconds)) for seconds in taken)


async def measure_async(
    *operations: Callable[[], Awaitable[object]],
    repetitions: int,
    warm_up: int,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[Times, ...]:
    """Like `measure`, in the running event loop, after enough rounds for connections and caches to settle."""
    taken: list[list[float]] = [[] for _ in operations]
    for _ in range(warm_up + repetitions):
        for operation, seconds in zip(operations, taken, strict=True):
            start = clock()
            await operation()
            seconds.append(clock() - start)
    return tuple(Times(tuple(seconds[warm_up:])) for seconds in taken)
