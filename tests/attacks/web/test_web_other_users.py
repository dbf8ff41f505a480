"""Another user of this machine goes for the web pages: their port, their process and what they show.

Held by: a host name and a code that stand in nobody else's sight, and a port that is taken for this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.people.web import answers, web
from support.people.web_client import Person

from ironcurtain.enforcement.approvals.messages import ApprovalRequest

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
]
STRANGER = """
import json, os, secrets, socket, sys
port, pid, home, known, request = sys.argv[1:]
"x".encode("idna"); os.setgroups([]); os.setgid(65534); os.setuid(65534)

def status(host, way="GET /approvals", more="", body=""):
    with socket.create_connection(("127.0.0.1", int(port)), 10) as s:
        length = f"Content-Length: {len(body)}\\r\\n" if body else ""
        head = f"{way} HTTP/1.1\\r\\nHost: {host}\\r\\n{length}{more}Connection: close\\r\\n\\r\\n"
        s.sendall((head + body).encode())
        return int(s.makefile("rb").readline().split()[1])

def opens(path):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
    except PermissionError:
        return False
    return True

def takes(address):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            s.bind((address, int(port)))
        except OSError:
            return False
        return True

form = f"Origin: http://{known}\\r\\nContent-Type: application/x-www-form-urlencoded\\r\\n"
print(json.dumps({
    "named": [status(h + f":{port}") for h in ("127.0.0.1", "localhost", "ironcurtain.localhost")],
    "guessed": sorted({status(f"ironcurtain-{secrets.token_hex(6)}.localhost:{port}") for _ in range(100)}),
    "strangers": [status(known), status(known, f"POST /approvals/{request}", form, "answer=approve&read=yes"),
                  status(known, "POST /enter", form, "code=guessed"),
                  status("evil", f"GET http://{known}/approvals")],
    "opened": [p for p in (f"/proc/{pid}/environ", f"/proc/{pid}/mem", f"/proc/{pid}/fd", home) if opens(p)],
    "taken": [a for a in ("127.0.0.1", "0.0.0.0") if takes(a)],
    "seen": known in open("/proc/net/tcp").read() + open(f"/proc/{pid}/cmdline").read(),
}))
"""


def test_another_user_reads_approves_and_takes_over_nothing(home: Path, asked: ApprovalRequest) -> None:
    home.chmod(0o700)
    with web(home) as running:
        person = Person(running)
        given = [str(running.port), str(running.process.pid), str(home), running.host, asked.id]
        ended = subprocess.run(
            [sys.executable, "-I", "-c", STRANGER, *given], stdout=subprocess.PIPE, text=True, check=True
        )
        assert person.get("/approvals").status_code == 200
    assert json.loads(ended.stdout) == {
        "named": [421, 421, 421],
        "guessed": [421],
        "strangers": [403, 403, 403, 421],
        "opened": [],
        "taken": [],
        "seen": False,
    }
    assert answers(home) == {}
