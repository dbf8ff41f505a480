"""What all tests share.

Properties draw the same examples in every run, so that a red run is red for everybody and again tomorrow.
New ones are looked for with `--hypothesis-profile=searching`, which draws ten times as many (as does
`support.examples` where a property names a number), and by the fuzzer.
"""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from mcp.client import session, stdio
from pytest_httpserver import HTTPServer

# How fast a machine draws them is no property.
_ANY_SPEED: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, **_ANY_SPEED)
settings.register_profile("searching", derandomize=False, print_blob=True, max_examples=1_000, **_ANY_SPEED)
settings.load_profile("repeatable")

# The clients of the SDK have no option for these: they give up a proxy that still starts, and kill one two
# seconds after they leave it, which on a busy machine still writes its last records.
session.DISCOVER_TIMEOUT_SECONDS = stdio.PROCESS_TERMINATION_TIMEOUT = 120.0

# A run in the background may have been started with interrupts ignored, which the programs that tests start
# and interrupt would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests start servers of their own, mostly without a sandbox; tests of the permission itself take this away.
os.environ["IRONCURTAIN_PERMIT_SERVERS"] = "all"


# What takes minutes begins first: at the end of a run nothing would be left to do beside it.
LONG = (
    "tests/journeys/",
    "tests/e2e/documents/test_readme.py",
    "tests/e2e/documents/test_docs.py",
    "tests/e2e/transcripts/test_release.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the long tests first; all else keeps its order."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


@pytest.fixture(scope="module")
def threaded_server() -> Iterator[HTTPServer]:
    """Answer on loopback, in threads: a call that was given up must not hold up the next one."""
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def _heeded_hangup() -> None:
    """Let programs heed a hang-up that a run under `nohup` ignores: they inherit that, but no handler."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """Undo what a test leaves of signals: a proxy that has ended ignores them, and programs inherit that."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, on which the program runs."""
    return "asyncio"
