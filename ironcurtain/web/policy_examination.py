"""Work that takes long, done in a thread of its own, once for each state of the files that it reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ironcurtain.errors import IronCurtainError

T = TypeVar("T")


@dataclass(frozen=True)
class Progress(Generic[T]):
    """How far the work is.

    Attributes:
        state: What the files were when it began; it tells one piece of work from another.
        result: What came of it; None as long as it goes on, and where it failed.
        trouble: Why it failed, empty if it did not.
    """

    state: Hashable
    result: T | None = None
    trouble: str = ""

    @property
    def version(self) -> str:
        """Another text whenever a page would show something else."""
        return f"{hash(self.state)} {self.result is not None} {self.trouble}"


class OncePerState(Generic[T]):
    """Works something out from files, and anew when they changed.

    Args:
        state: Tells what the files are now, quickly.
        work: Works it out; it may take long.
    """

    def __init__(self, state: Callable[[], Hashable], work: Callable[[], T]) -> None:
        self._state, self._work = state, work
        self._lock = threading.Lock()
        self._known: Progress[T] | None = None

    def progress(self) -> Progress[T]:
        """Return what is known, and begin to work where nothing is known of the files as they are now."""
        now = self._state()
        with self._lock:
            if self._known is None or self._known.state != now:
                self._known = Progress(now)
                threading.Thread(target=self._run, args=(now,), daemon=True).start()
            return self._known

    def _run(self, state: Hashable) -> None:
        try:
            done = Progress(state, self._work())
        except (IronCurtainError, ExceptionGroup, OSError) as error:
            parts = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
            done = Progress(state, trouble="; ".join(map(str, parts)))
        with self._lock:
            if self._known is not None and self._known.state == state:
                self._known = done
