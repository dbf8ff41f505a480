"""Work that takes long, done in a thread of its own, once for each state of the files that it reads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from ironcurtain.system.structs import Struct
from ironcurtain.web.rendering import said

T = TypeVar("T")
_TELLING_SECONDS = 5.0


class WorkProgress(Struct, Generic[T]):
    """How far the work is.

    Attributes:
        state: What the files were when it began; it tells one piece of work from another.
        result: What came of it; None as long as it goes on, and where it failed.
        trouble: Why it failed, empty if it did not.
        ended: When it failed, on the monotonic clock.
    """

    state: Hashable
    result: T | None = None
    trouble: str = ""
    ended: float = 0.0

    @property
    def version(self) -> str:
        """Another text whenever a page would show something else."""
        return f"{hash(self.state)} {self.result is not None} {self.trouble}"


class OncePerState(Generic[T]):
    """Works something out from files, and anew when they changed.

    Args:
        state: Tells what the files are now, quickly.
        work: Works it out; it may take long.
        telling: For so many seconds a failure is only told: all open pages ask for it when it is there.
    """

    def __init__(
        self, state: Callable[[], Hashable], work: Callable[[], T], telling: float = _TELLING_SECONDS
    ) -> None:
        self._state, self._work, self._telling = state, work, telling
        self._lock = threading.Lock()
        self._known: WorkProgress[T] | None = None

    def progress(self, *, asked: bool = False) -> WorkProgress[T]:
        """Return what is known, and begin to work where nothing is known of the files as they are now.

        Args:
            asked: Whether a person asks: what failed for them before is then tried again, since it may hang
                on more than these files.
        """
        now = self._state()
        with self._lock:
            known = self._known
            if known is None or known.state != now or (asked and self._is_old(known)):
                known = self._known = WorkProgress(now)
                threading.Thread(target=self._run, args=(known,), daemon=True).start()
            return known

    def _run(self, begun: WorkProgress[T]) -> None:
        try:
            done = WorkProgress(begun.state, self._work())
        except Exception as error:  # noqa: BLE001 - else the page would wait for ever for what has ended
            parts = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
            done = WorkProgress(begun.state, trouble=" ".join(map(said, parts)), ended=time.monotonic())
        with self._lock:
            if self._known is begun:
                self._known = done

    def _is_old(self, known: WorkProgress[T]) -> bool:
        return bool(known.trouble) and time.monotonic() - known.ended > self._telling


def version_of(work: OncePerState[T] | None) -> str:
    """Return another text whenever a page of some work would show something else; there may be none."""
    return work.progress().version if work is not None else ""
