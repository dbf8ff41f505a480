"""Work in a fork: its result, its error, and its end where nobody waits for it any more."""

from __future__ import annotations

import errno
import inspect
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.documentation.transcript import ROOT

from ironcurtain import errors
from ironcurtain.errors import IronCurtainError, Place, SeveralErrors

BEGIN = """
import os, signal, sys, time
from functools import partial
from pathlib import Path
from ironcurtain.errors import RuleError, SeveralErrors
from ironcurtain.system.forked import in_fork
from ironcurtain.system.subprocess_runner import run
def sleep():
    script = "echo $$ > new; mv new pid; sleep 600 & wait"
    return run(["/bin/sh", "-c", script], cwd=Path(), environment={"PATH": os.defpath}, timeout=600)
def running():
    Path("owner").write_text(str(os.getpid()))
    while not Path("pid").exists():
        time.sleep(0.01)
"""


def script(body: str, directory: Path, *, closed: tuple[int, ...] = ()) -> subprocess.Popen[bytes]:
    """Start a program of one thread, as a fork needs it; some of its streams may be closed."""
    close = "".join(f" {handle}>&-" for handle in closed)
    return subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$0" -c "$1"{close}', sys.executable, BEGIN + body],
        cwd=directory,
        env={"PYTHONPATH": str(ROOT), "PATH": os.defpath},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def said(body: str, directory: Path) -> str:
    out, wrong = script(body, directory).communicate(timeout=60)
    assert not wrong
    return out.decode()


def is_gone(process: int) -> bool:
    """Tell whether a process ends within a minute."""
    for _ in range(6_000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].startswith("Z"):
            return True  # whoever adopted it is slow to ask for its status
        time.sleep(0.01)
    return False


def test_the_work_is_done_by_another_process_and_asked_for_as_often_as_wanted(tmp_path: Path) -> None:
    body = "with in_fork(os.getpid) as work: print(work() == work() != os.getpid())"
    assert said(body, tmp_path) == "True\n"


def test_an_answer_may_be_larger_than_a_pipe_and_need_not_be_asked_for(tmp_path: Path) -> None:
    body = (
        "with in_fork(lambda: bytes(10**7)) as work: print(len(work()))\n"
        "with in_fork(lambda: bytes(10**7)): print('unasked')"
    )
    assert said(body, tmp_path) == "10000000\nunasked\n"


def test_an_error_is_raised_where_the_result_is_waited_for_with_all_that_it_says(tmp_path: Path) -> None:
    body = """
def wrong():
    raise SeveralErrors([RuleError("one", where="a.yaml", hint="Mend it."), RuleError("two")])
with in_fork(wrong) as work:
    try:
        work()
    except SeveralErrors as error:
        print([(e.what, str(e.where), e.hint) for e in error.errors], "in wrong" in error.__notes__[0])
"""
    assert said(body, tmp_path) == "[('one', 'a.yaml', 'Mend it.'), ('two', 'None', '')] True\n"


OURS = [
    each
    for _, each in inspect.getmembers(errors, inspect.isclass)
    if issubclass(each, IronCurtainError) and each is not SeveralErrors
]


@pytest.mark.parametrize("error", OURS)
def test_every_error_of_ours_can_be_sent(error: type[IronCurtainError]) -> None:
    made = error("what", where=Place("file", 1, 2))
    sent = pickle.loads(pickle.dumps(made))
    assert (type(sent), sent.what, sent.where) == (error, "what", made.where)


def test_a_fork_that_is_killed_is_a_failure(tmp_path: Path) -> None:
    body = """
from ironcurtain.errors import SystemFailedError
with in_fork(lambda: os.kill(os.getpid(), signal.SIGKILL)) as work:
    try:
        work()
    except SystemFailedError as error:
        print(int(error.exit))
"""
    assert said(body, tmp_path) == "3\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_fork_and_programs_end_with_who_waits(tmp_path: Path, number: signal.Signals) -> None:
    body = "with in_fork(sleep) as work:\n    running()\n    work()"
    waiting = script(body, tmp_path)
    while not (tmp_path / "pid").exists():
        time.sleep(0.01)
    waiting.send_signal(number)
    waiting.communicate(timeout=60)  # the streams end where the fork ends, too
    assert waiting.returncode == -number
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_fork_that_is_interrupted_as_it_begins_does_nothing_of_what_the_block_is_in(tmp_path: Path) -> None:
    body = """
from ironcurtain.errors import SystemFailedError
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGINT))
owner = os.getpid()
try:
    with in_fork(lambda: 7) as work:
        work()
except SystemFailedError:
    print("ended")
finally:
    print(os.getpid() == owner, flush=True)
"""
    assert said(body, tmp_path) == "ended\nTrue\n"


def test_fork_and_programs_end_with_an_error_of_the_block(tmp_path: Path) -> None:
    body = """
from ironcurtain.system.background import in_background
try:
    with in_fork(sleep) as work, in_background(work):
        running()
        raise RuntimeError
except RuntimeError:
    print("ended")
"""
    assert said(body, tmp_path) == "ended\n"
    with pytest.raises(OSError, match=os.strerror(errno.ESRCH)):
        os.kill(int((tmp_path / "pid").read_text()), 0)


@pytest.mark.parametrize("closed", [(0,), (0, 1, 2)])
def test_closed_streams_are_no_hindrance(tmp_path: Path, closed: tuple[int, ...]) -> None:
    body = "with in_fork(lambda: bytes(10**6)) as work: Path('found').write_text(str(len(work())))"
    script(body, tmp_path, closed=closed).communicate(timeout=60)
    assert (tmp_path / "found").read_text() == "1000000"


def test_a_process_of_several_threads_is_not_forked(tmp_path: Path) -> None:
    body = """
from ironcurtain.system.background import in_background
with in_background(lambda: time.sleep(0.1)), in_fork(os.getpid) as work:
    print(work() == os.getpid())
"""
    assert said(body, tmp_path) == "True\n"
