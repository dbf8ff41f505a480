"""A release fetched by plain OPA: tests/journeys/release.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from support.machines.journey import Journey
from support.records.signing import archive
from support.services.plain_opa import configuration, plain_opa

from ironcurtain.bundle.archive import unpack

SAID = """\
The policy of the first journey is signed, and published into a directory that a web server
serves. An OPA that knows nothing of IronCurtain fetches it, and takes it for the sake of the key."""
CALL = """filesystem read_text_file '{"path": "~/Documents/letter.txt"}'"""
RULES = "ironcurtain/rules/data.json"
REFUSED = "Bundle load failed"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """Serve a directory on loopback; yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(directory)))
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_release_that_a_plain_opa_fetches(agent: Callable[..., Journey]) -> None:
    you = agent("release", "A release, fetched by a plain OPA", SAID)
    www = you.home / "www"
    www.mkdir()
    you.say("A key, once")
    you.type("ironcurtain key new")
    you.say("A release")
    assert "compile --locked --sign" in you.type("ironcurtain publish ~/www", 2)
    you.type("ironcurtain compile --locked --saved-tools --sign --quiet")
    you.type("ironcurtain publish ~/www")
    you.say("An OPA", "It is given the public key and the address: the `opa.yaml` of docs/publish.md.")
    you.type("ironcurtain key public")
    key = json.loads(you.run("ironcurtain key public --format json"))
    question = f"ironcurtain input --bundle generated/bundle --sandbox ~/work {CALL}"
    asked = json.loads(you.type(question))
    with served(www) as address, plain_opa(configuration(key, url=f"{address}/bundle.tar.gz")) as opa:
        opa.until(opa.serves)
        decided = opa.decide(asked)
        you.transcript.remark(
            "`POST /v1/data/ironcurtain/decision/decision` with this as its `input` answers:"
        )
        you.shows(json.dumps(decided, indent=2))
        assert decided["verdict"] == "allow"
        you.say("Somebody changes it", "Whoever controls the web server turns each deny into an allow.")
        files = unpack((www / "bundle.tar.gz").read_bytes(), "the release")
        changed = {**files, RULES: files[RULES].replace(b'"deny"', b'"allow"')}
        (www / "bundle.tar.gz").write_bytes(archive(changed.items()))
        opa.until(lambda: opa.says(REFUSED))
        you.transcript.remark("OPA goes on with what it has, and says:")
        (said, *_) = [json.loads(line)["msg"] for line in opa.log.read_text().splitlines() if REFUSED in line]
        you.shows(said.split(", got:")[0].split("(want")[0].strip())
        assert opa.decide(asked) == decided
    you.transcript.remark("IronCurtain refuses it, too:")
    mine = "--verify-key ~/.ironcurtain/signing-key.pub.pem --sandbox ~/work"
    you.type(f"ironcurtain decide --bundle ~/www/bundle.tar.gz {mine} {CALL}", 3)
    you.transcript.check()
