"""Programs that handlers start: whose they are, and their end with the call that they were started for.

A plain handler has a thread of its own, so the children of that thread are its programs. Asynchronous ones
share a thread. There the interpreter tells of each start before it happens (an audit hook): the child that
the thread then has, and had not before, is of the job that ran. The kernel tells of children on Linux only.

What is started by a thread that a handler began itself, and a program that leaves its parents as daemons do,
is of no job that is known: it ends with the gateway, which adopts it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

JOB: ContextVar[object | None] = ContextVar("ironcurtain_job", default=None)
"""The job that a program is started for; threads that are handed work by asyncio inherit it."""

_EVENTS = frozenset(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"))


@dataclass
class _Family:
    """The children of one thread.

    Attributes:
        starter: Whose start was told last; a child that is not known yet is of this job.
        known: By process the job that it was started for.
    """

    starter: object | None = None
    known: dict[int, object | None] = field(default_factory=dict)

    def look(self, thread: int) -> None:
        """Take note of the children that a thread has by now."""
        self.known = {child: self.known.get(child, self.starter) for child in children(os.getpid(), thread)}


class Started:
    """The programs of jobs that share threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._families: dict[int, _Family] = {}
        self._watching = False

    def watch(self) -> None:
        """Begin to be told of starts; a hook of the interpreter stays for as long as this does."""
        if not self._watching:
            self._watching = True
            sys.addaudithook(self._told)

    def end(self, job: object) -> None:
        """Kill the programs that were started for a job; whoever waits for them is told."""
        with self._lock:
            for thread, family in list(self._families.items()):
                family.look(thread)
                for child in [child for child, of in family.known.items() if of is job]:
                    kill_tree(child)
                if family.starter is job:
                    family.starter = None
                if not family.known:
                    del self._families[thread]

    def _told(self, event: str, _: object) -> None:
        if event not in _EVENTS:
            return
        job, thread = JOB.get(), threading.get_native_id()
        if job is None and thread not in self._families:
            return
        with self._lock:
            family = self._families.setdefault(thread, _Family())
            family.look(thread)
            family.starter = job


STARTED = Started()


def end_programs(thread: int | None) -> None:
    """Kill the programs that a thread has started, and all below them."""
    if thread is None:
        return
    for child in list(children(os.getpid(), thread)):
        kill_tree(child)
        with contextlib.suppress(OSError):
            os.waitpid(child, 0)


def kill_tree(process: int) -> None:
    """Kill a process and all below it."""
    for each in (process, *_below(process)):
        with contextlib.suppress(OSError):
            os.kill(each, signal.SIGKILL)


def children(process: int, thread: int) -> Iterator[int]:
    """Yield the children that a thread of a process has."""
    with contextlib.suppress(OSError):
        yield from map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split())


def _below(process: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for thread in list(Path(f"/proc/{process}/task").iterdir()):
            for child in children(process, int(thread.name)):
                yield child
                yield from _below(child)
