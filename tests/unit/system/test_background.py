"""Work beside other work: its programs end where nobody waits for it any more."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from ironcurtain.system.background import Once, in_background
from ironcurtain.system.subprocess_runner import ProcessOutput, run

LONG = 600.0
T = TypeVar("T")


def sleep(directory: Path) -> ProcessOutput:
    """Run what would take ten minutes, with a child of it; it tells its process id when it runs."""
    script = f"echo $$ > new; mv new pid; sleep {LONG:g} & wait"
    environment = {"PATH": os.defpath}
    return run(["/bin/sh", "-c", script], cwd=directory, environment=environment, timeout=LONG)


def left(work: Callable[[], T], directory: Path, error: type[BaseException]) -> Future[T]:
    """Begin some work and leave the block with an error when its program runs."""

    def block() -> None:
        with in_background(work) as begun:
            works.append(begun)
            while not (directory / "pid").exists():
                time.sleep(0.01)
            raise error

    works: list[Future[T]] = []
    with pytest.raises(error):
        block()
    return works[0]


def test_the_result_and_the_error_of_the_work() -> None:
    with in_background(lambda: 7) as work:
        pass
    assert work.result() == 7
    with in_background(partial(int, "x")) as failing:
        pass
    with pytest.raises(ValueError, match="invalid literal"):
        failing.result()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_the_programs_of_the_work_end_with_the_block(tmp_path: Path, error: type[BaseException]) -> None:
    assert left(partial(sleep, tmp_path), tmp_path, error).result().status < 0
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_the_programs_of_the_work_end_where_the_wait_for_it_is_interrupted(tmp_path: Path) -> None:
    main = threading.get_ident()

    def interrupt() -> None:
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    with ThreadPoolExecutor(1) as person:
        with pytest.raises(KeyboardInterrupt), in_background(partial(sleep, tmp_path)) as work:
            person.submit(interrupt)
        assert work.result(60.0).status < 0


def test_no_program_runs_on_that_is_started_after_the_end(tmp_path: Path) -> None:
    def twice() -> tuple[ProcessOutput, ProcessOutput]:
        return sleep(tmp_path), sleep(tmp_path)

    first, second = left(twice, tmp_path, KeyboardInterrupt).result()
    assert first.status < 0
    assert second.status < 0


def test_work_beside_work_ends_with_it(tmp_path: Path) -> None:
    def outer() -> ProcessOutput:
        with in_background(partial(sleep, tmp_path)) as inner:
            pass
        return inner.result()

    assert left(outer, tmp_path, KeyboardInterrupt).result().status < 0


def test_work_that_many_ask_for_is_done_once() -> None:
    begun: list[int] = []

    def work() -> list[int]:
        begun.append(len(begun))
        time.sleep(0.05)  # so that the others ask while it is done
        return begun

    once = Once(work)
    with in_background(once) as first, in_background(once) as second:
        assert once() is begun
    assert first.result() is second.result() is begun
    assert begun == [0]


def test_work_that_failed_is_done_again() -> None:
    answers: Iterator[ValueError | int] = iter([ValueError("busy"), 1])

    def work() -> int:
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    once = Once(work)
    with pytest.raises(ValueError, match="busy"):
        once()
    assert once() == 1
