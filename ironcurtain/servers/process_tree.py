"""Starts one MCP server so that it, and all it starts, ends with its owner. Run as a script.

    python -I -S process_tree.py OWNER-PID PROGRAM ARGUMENT…

The server inherits standard input and output, so not one byte is copied here. This small program, of the
standard library alone, stays as its parent: on Linux it adopts whatever the server leaves behind, and the
kernel tells it when its owner's thread dies. Then, or when the server has ended, it kills every process
below it. `npx`, shells and daemons are thereby covered, which a signal to one process is not.

On Linux it is two processes, the keeper and below it the launcher, each in a process group of its own: if
a server kills one of them, the other ends everything. What a server without a sandbox leaves that first
stops and then kills both falls to the proxy, which ends it when it ends itself (`adopting`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import signal
import sys
from collections.abc import Iterator

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_JOIN_SESSION_KEYRING = 1
_KEYCTL = {
    "x86_64": 250,
    "aarch64": 219,
    "riscv64": 219,
    "loongarch64": 219,
    "ppc64le": 271,
    "s390x": 280,
    "armv7l": 311,
    "i686": 288,
}
"""The number of the system call by machine; no other one has keys for us."""
_NO_KEYS = frozenset({errno.ENOSYS, errno.EPERM, errno.EACCES})
_NOT_STARTED = 127
_POLL = 0.2


def main(owner: int, command: list[str]) -> int:
    """Run the command until it or the owner ends; return its exit status."""
    if sys.platform != "linux":
        return _launch(owner, command)
    libc = ctypes.CDLL(None, use_errno=True)
    if not _ends_with(owner, libc):
        return 1
    if reason := _leave_keyring(libc):
        sys.stderr.write(f"cannot start {command[0]}: it can have no keyring of its own: {reason}\n")
        return _NOT_STARTED
    keeper = os.getpid()
    launcher = os.fork()
    if launcher == 0:
        os.setpgid(0, 0)  # a server that kills its group does not kill the keeper
        return _launch(keeper, command) if _ends_with(keeper, libc) else 1
    _give_up_streams()
    _, ended = os.waitpid(launcher, 0)
    kill_below(keeper)
    status = os.waitstatus_to_exitcode(ended)
    return status if status >= 0 else 128 - status


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """Adopt whatever is left below this process, and at the end kill all that is below it, on Linux.

    For a process that has nothing else to start or to keep by then.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        kill_below(os.getpid())


def _ends_with(owner: int, libc: ctypes.CDLL) -> bool:
    """Adopt what is left below, and end it all when the owner's thread dies; tell whether it still lives."""
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    for number in (
        signal.SIGTERM,
        signal.SIGHUP,
    ):  # a stopped group whose keeper is killed is sent the second
        signal.signal(number, _end)
    return os.getppid() == owner  # it may have died before the kernel was asked


def _launch(owner: int, command: list[str]) -> int:
    """Run the command; when it has ended, end what it left."""
    if os.getppid() != owner:
        return 1
    try:
        # Not by `subprocess`, for whose modules every server would wait. Python ignores the two signals.
        child = os.posix_spawnp(command[0], command, os.environ, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ))
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        return _NOT_STARTED
    _give_up_streams()
    if sys.platform != "linux":
        import threading  # noqa: PLC0415 - as above

        threading.Thread(target=_watch, args=(owner,), daemon=True).start()
    _, ended = os.waitpid(child, 0)
    kill_below(os.getpid())
    status = os.waitstatus_to_exitcode(ended)
    return status if status >= 0 else 128 - status


def _give_up_streams() -> None:
    """Leave the pipes to the server alone: the end of one must be seen by the other."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)


def _leave_keyring(libc: ctypes.CDLL) -> str:
    """Join a new, empty session keyring; return why that failed, nothing if servers cannot use keys anyway.

    The kernel gives a session's keys to every process of it, by whatever sandbox: tickets, disk keys, tokens.
    """
    number = _KEYCTL.get(os.uname().machine)
    if number is None or libc.syscall(number, _JOIN_SESSION_KEYRING, None) != -1:
        return ""
    failed = ctypes.get_errno()
    return "" if failed in _NO_KEYS else os.strerror(failed)


def _end(_number: int, _frame: object) -> None:
    kill_below(os.getpid())
    os._exit(1)


def _watch(owner: int) -> None:
    """Where the kernel tells nobody of a parent's death, look."""
    import time  # noqa: PLC0415 - as above

    while os.getppid() == owner:
        time.sleep(_POLL)
    with contextlib.suppress(OSError):
        os.killpg(0, signal.SIGKILL)


def kill_below(pid: int) -> None:
    """Kill all that descends from a process; what they leave behind becomes its child and goes next."""
    while children := list(_children(pid)):
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(OSError):
                os.waitpid(child, 0)


def _children(pid: int) -> Iterator[int]:
    """Yield the processes whose parent this is; elsewhere than on Linux nothing is known."""
    # Without pathlib, for which every server would wait at its start.
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - as above
    except OSError:
        names = []
    for name in names:
        with contextlib.suppress(OSError, ValueError, IndexError):
            number = int(name)
            with open(f"/proc/{number}/stat", "rb") as file:  # noqa: PTH123 - as above
                # pid (name) state ppid …; a name may hold spaces and brackets.
                if int(file.read().rpartition(b")")[2].split()[1]) == pid:
                    yield number


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
