"""What a client runs for each event: asks the decision service, prints its answer, and on any failure blocks.

It needs the standard library only, and nothing of the package that it lies in: `python -I -S` starts it, with
the file that `ironcurtain wrap` wrote. Exit 0 with an answer, else exit 2 with a sentence: in every dialect
of hooks that blocks, and other exits do not.
"""

from __future__ import annotations

import os
import sys
import time
from _socket import AF_UNIX, SOCK_STREAM, socket  # `socket` itself takes longer to load than all else

TYPE_CHECKING = False  # as `typing` has it, which would take as long
if TYPE_CHECKING:
    from subprocess import Popen
    from typing import Any

_OK, _BLOCK = 200, 2
_POLL = 0.05
_MOST_BYTES = 16 << 20


def main(configuration: str, place: str, seconds: str, path: str, follow: str = "") -> None:
    """Answer one event.

    Args:
        configuration: The file that says how the service is started.
        place: Its socket.
        seconds: How long all this may take.
        path: Where events are posted.
        follow: Not empty where there is one service a project, whose workspace is the project.
    """
    event = sys.stdin.buffer.read()
    end = time.monotonic() + float(seconds)
    project = ""
    if follow:
        from hashlib import sha256  # noqa: PLC0415 - as seldom as that

        project = os.path.realpath(os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())  # noqa: PTH109
        place = f"{place.removesuffix('.sock')}-{sha256(os.fsencode(project)).hexdigest()[:12]}.sock"
    connection = _connected(place, configuration, project, end)
    status, body = _asked(connection, path, event, end)
    if status != _OK or not body.startswith(b"{"):
        raise OSError(f"the decision service says {body.decode(errors='replace')}")
    if body != b"{}":
        sys.stdout.buffer.write(body)
        sys.stdout.flush()


def _connected(place: str, configuration: str, project: str, end: float) -> socket:
    """Return a connection to the service, which is started where there is none."""
    parent = os.path.dirname(place)  # noqa: PTH120
    started: Popen[bytes] | None = None
    log = ""
    os.makedirs(parent, mode=0o700, exist_ok=True)  # noqa: PTH103
    while True:
        found = os.lstat(parent)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise OSError(f"{parent} is not yours alone")
        connection = socket(AF_UNIX, SOCK_STREAM)
        try:
            connection.settimeout(max(_POLL, end - time.monotonic()))
            connection.connect(place)
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
        else:
            return connection
        if started is None:
            started, log = _started(place, configuration, project)
        elif started.poll() == 0:  # another one was there, and is ending, or another hook was quicker
            started = None
        elif started.poll() is not None:
            with open(log, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                raise OSError(f"the decision service does not start: {file.read()[-400:].strip()}")
        if time.monotonic() > end:
            raise OSError("the decision service does not answer in time")
        time.sleep(_POLL)


def _started(place: str, path: str, project: str) -> tuple[Popen[bytes], str]:
    """Start the service, which goes on when the hook has ended; return also where it says what is wrong."""
    import json  # noqa: PLC0415 - most hooks start none
    import subprocess  # noqa: PLC0415 - as above

    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes as long to load as all else
        configuration: dict[str, Any] = json.load(file)
    with open(configuration["log"], "wb") as log:  # noqa: PTH123
        started = subprocess.Popen(  # noqa: S603 - what `ironcurtain wrap` wrote
            [*configuration["command"], "--unix", place],
            cwd=project or configuration["directory"],
            env={**os.environ, **configuration["environment"]},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return started, configuration["log"]


def _asked(connection: socket, path: str, event: bytes, end: float) -> tuple[int, bytes]:
    """Send an event; return the status and the body of the answer."""
    attended = int(os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "1")
    connection.sendall(
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(event)}\r\nX-Session-Attended: {attended}\r\n"
        "Connection: close\r\n\r\n".encode()
        + event
    )
    received = b""
    while piece := connection.recv(1 << 16):
        received += piece
        connection.settimeout(max(_POLL, end - time.monotonic()))
        if len(received) > _MOST_BYTES:
            raise OSError("the decision service answered too much")
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    if f"content-length: {len(body)}".encode() not in lines:
        raise OSError("the decision service broke off")
    return int(lines[0].split()[1]), body


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BaseException as error:  # noqa: BLE001 - whatever it is, it must not let a call through
        sys.stderr.write(
            f"IronCurtain blocked this: nothing could be decided: {error or type(error).__name__}\n"
        )
        sys.stderr.flush()
        os._exit(_BLOCK)
