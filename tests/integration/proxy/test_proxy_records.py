"""What the proxy keeps of calls and tells of them, as its options say."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import anyio
import pytest
from e2e.program import assert_clear, program
from support.deployments.proxied import Place, text_of, until
from support.deployments.wire import running

SECRET = "the-plan-of-friday"


@dataclass
class Collector:
    """An OpenTelemetry collector on this machine: what it was sent, by path."""

    url: str = ""
    received: dict[str, bytes] = field(default_factory=dict)

    @property
    def spans(self) -> bytes:
        """The spans as they came."""
        return self.received.get("/v1/traces", b"")

    @property
    def counts(self) -> bytes:
        """The metrics as they came."""
        return self.received.get("/v1/metrics", b"")

    def is_complete(self) -> bool:
        """Tell whether seven decisions were told of, and the last one, a denial, was counted."""
        return self.spans.count(b"ironcurtain.decision") == 7 and b"default-deny" in self.counts


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.received[self.path] = collector.received.get(self.path, b"") + body
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield collector
        finally:
            server.shutdown()


class Telling(Place):
    """A place whose proxy is told where OpenTelemetry's collector is."""

    url = ""
    patience = "10"

    def environment(self) -> dict[str, str]:
        often = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "100"}
        to = {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_EXPORTER_OTLP_TIMEOUT": self.patience}
        return {**super().environment(), **often, **to}


def visit(place: Place, *options: str, calls: int = 1, done: Callable[[], object] = lambda: True) -> None:
    """Read so many notes, and once something else; leave when that is done which is waited for."""

    async def read() -> None:
        async with place.client("--no-approver", *options) as client:
            for number in range(calls):
                own = await client.call_tool("fix__read", {"path": f"~/notes/{SECRET}-{number}"})
                assert not own.is_error, text_of(own)
            assert (await client.call_tool("fix__read", {"path": f"/{SECRET}"})).is_error
            await until(done)

    anyio.run(read)


def logged(place: Place) -> list[str]:
    """Return the segments of the log."""
    return [path.read_text() for path in sorted((place.home / ".ironcurtain" / "audit").glob("test*.jsonl"))]


def test_an_abstract_log_in_segments_and_telemetry_hold_no_value(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    place = Telling(tmp_path.resolve())
    with collecting() as collector:
        place.url = collector.url
        options = ("--audit-values", "abstract", "--audit-max-bytes", "4096", "--telemetry")
        visit(place, *options, calls=6, done=collector.is_complete)
    segments = logged(place)
    assert len(segments) > 1
    assert SECRET not in "".join(segments)
    assert sum(segment.count('"kind":"decision"') for segment in segments) == 7
    key = str(place.home / ".ironcurtain" / "audit.key")
    log = str(place.home / ".ironcurtain" / "audit" / "test.jsonl")
    verified = program("audit", "verify", log, "--key", key)
    assert verified.code == 0, verified.out
    assert b"default-deny" in collector.spans
    assert b"ironcurtain.decisions" in collector.counts
    assert SECRET.encode() not in collector.spans + collector.counts


def test_without_a_collector_calls_go_on_and_the_proxy_says_so(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    place = Telling(tmp_path.resolve())
    with collecting() as gone:
        place.url, place.patience = gone.url, "1"
    visit(place, "--telemetry", done=lambda: "Failed to export" in place.said)
    assert len(place.decisions) == 2
    assert "Traceback" not in place.said


def test_a_collector_that_never_answers_does_not_keep_the_proxy_from_ending(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    place = Telling(tmp_path.resolve())
    with socket.create_server(("127.0.0.1", 0), backlog=100) as silent:
        place.url, place.patience = f"http://127.0.0.1:{silent.getsockname()[1]}", "3600"
        with running(place, "--no-approver", "--telemetry") as process:
            process.stdin.close()
            assert process.wait(120) == 0


def test_the_values_of_a_role_are_redacted_whole(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    visit(place, "--audit-redact", "read-path")
    (log,) = logged(place)
    assert SECRET not in log
    assert "[redacted:" in log


def test_a_role_that_is_none_stops_the_start(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())
    given = ["--bundle", str(place.bundle), "--servers", str(place.servers), "--audit-redact", "read-paht"]
    ended = program("proxy", *given, HOME=str(place.home))
    assert_clear(ended, 2, "IC1001")
    assert not logged(place)
