"""Several paths followed through a value at once.

A path's coverage is every address at or below a node that it matches. A `State` says of one address how far
each path has come; states are made when they are first entered and kept, so that a value is walked with one
look-up a node, however many paths there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ironcurtain.gateway.output.paths import AnyIndex, AnyKey, Deep, Index, Key, Path, Step

Position: TypeAlias = tuple[int, int]
"""A path, by its number, and how many of its steps have been taken."""

Letter: TypeAlias = str | int | None
"""One step of an address among those that paths can tell apart: a key, an index, or one that none names."""

OTHER_KEY, OTHER_INDEX = None, -1

_MOST = 20_000
"""How many states are made at most."""


class TooManyStatesError(ValueError):
    """The paths together need more states than are made."""


@dataclass(eq=False)
class State:
    """How far the paths have come at one address.

    Attributes:
        matched: Paths that match the address itself.
        covering: Paths that match it or something above it.
        is_final: Whether nothing below can be covered by more paths.
    """

    open: frozenset[Position]
    matched: frozenset[int]
    covering: frozenset[int]
    is_final: bool
    _next: dict[tuple[str, Letter], State] = field(default_factory=dict)


class Automaton:
    """The states of some paths.

    Args:
        paths: The paths; their numbers are their places here.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = tuple(path.steps for path in paths)
        self._states: dict[tuple[frozenset[Position], frozenset[int], frozenset[int]], State] = {}
        steps = [step for path in self._paths for step in path]
        self.keys = frozenset(step.name for step in steps if isinstance(step, Key | Deep))
        self.indexes = frozenset(step.number for step in steps if isinstance(step, Index))
        begun = {(number, 0) for number in range(len(self._paths))}
        self.start = self._state(begun, frozenset())

    def after_key(self, state: State, name: str) -> State:
        """Return the state of the member under a key.

        Raises:
            TooManyStatesError: If that would be one too many.
        """
        return self._after(state, "key", name if name in self.keys else OTHER_KEY)

    def after_index(self, state: State, number: int) -> State:
        """Return the state of an element.

        Raises:
            TooManyStatesError: As above.
        """
        return self._after(state, "index", number if number in self.indexes else OTHER_INDEX)

    def letters(self) -> list[tuple[str, Letter]]:
        """Return every step of an address that the paths can tell apart."""
        keys: list[Letter] = [*sorted(self.keys), OTHER_KEY]
        indexes: list[Letter] = [*sorted(self.indexes), OTHER_INDEX]
        return [("key", key) for key in keys] + [("index", index) for index in indexes]

    def after(self, state: State, letter: tuple[str, Letter]) -> State:
        """Return the state after one of `letters`."""
        return self._after(state, *letter)

    def _after(self, state: State, kind: str, letter: Letter) -> State:
        # A state without open positions stays as it is below, but for what matches there itself.
        known = state._next.get((kind, letter))  # noqa: SLF001 - the states are this class's own
        if known is None:
            moved = {to for position in state.open for to in self._moves(position, kind, letter)}
            known = self._state(moved, state.covering)
            state._next[kind, letter] = known  # noqa: SLF001
        return known

    def _moves(self, position: Position, kind: str, letter: Letter) -> Iterable[Position]:
        number, taken = position
        if taken == len(self._paths[number]):
            return
        step = self._paths[number][taken]
        if isinstance(step, Deep):
            yield position
        if _takes(step, kind, letter):
            yield number, taken + 1

    def _state(self, positions: set[Position], above: frozenset[int]) -> State:
        matched = frozenset(number for number, taken in positions if taken == len(self._paths[number]))
        left = frozenset(each for each in positions if each[1] < len(self._paths[each[0]]))
        place = (left, matched, above | matched)
        if place not in self._states:
            if len(self._states) >= _MOST:
                raise TooManyStatesError
            # Where an open path covers the address already, it can still match below; that changes masking.
            self._states[place] = State(left, matched, above | matched, is_final=not left)
        return self._states[place]


def _takes(step: Step, kind: str, letter: Letter) -> bool:
    """Tell whether a step of a path is one of an address."""
    match step:
        case Key(name) | Deep(name):
            return kind == "key" and letter == name
        case Index(number):
            return kind == "index" and letter == number
        case AnyKey():
            return kind == "key"
        case AnyIndex():
            return kind == "index"


def covers(wide: Path, narrow: Path) -> bool:
    """Tell whether one path's coverage holds all of another's, in every value that there could be.

    Raises:
        TooManyStatesError: If that cannot be told with the states that are made.
    """
    automaton = Automaton([wide, narrow])
    seen, waiting = {automaton.start}, [automaton.start]
    while waiting:
        state = waiting.pop()
        if 1 in state.covering:
            if 0 not in state.covering:
                return False
            continue  # below, both cover everything
        for letter in automaton.letters():
            after = automaton.after(state, letter)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return True
