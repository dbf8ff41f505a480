"""`ironcurtain web` as a program, and requests that wait in its home, for tests."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

import anyio
from e2e.browser import MOST
from e2e.program import PROGRAM, environment
from playwright.sync_api import Page, expect

from ironcurtain.enforcement.approvals.broker_directory import ApprovalDirectory
from ironcurtain.enforcement.approvals.messages import ApprovalOutcome, ApprovalRequest
from support.deployments.proxied import LONG, wait_for

T = TypeVar("T")
ADDRESS = re.compile(
    r"^(http://ironcurtain-[0-9a-f]{12}(?:\.passkey-[0-9a-f]{12})?\.localhost:\d+)/enter\?code=(\S+)$"
)


@dataclass
class Web:
    """The running command.

    Attributes:
        said: The lines that it printed.
        warned: Those that it wrote to standard error.
        ends: The exit code that it has to end with.
    """

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    warned: list[str] = field(default_factory=list)
    ends: int = 0

    @property
    def origin(self) -> str:
        """The scheme, host and port of its pages."""
        return self._address[1]

    @property
    def host(self) -> str:
        """The value of the header Host."""
        return self.origin.removeprefix("http://")

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.origin.rpartition(":")[2])

    @property
    def code(self) -> str:
        """The code that was printed last."""
        return self._address[2]

    def enter(self, page: Page, *, has_script: bool = True) -> Page:
        """Let a browser in, as a person does: by opening the address that stands in the terminal."""
        page.set_default_timeout(MOST)
        with self.uses_code():
            page.goto(self._address[0])
            if not has_script:
                page.get_by_role("button", name="Enter").click()
            page.wait_for_url(f"{self.origin}/approvals")
        return page

    @contextmanager
    def uses_code(self) -> Iterator[None]:
        """Wait for the next code once the one that is shown was used, so that nobody after takes it again."""
        used = self.code
        yield
        wait_for(lambda: self.code != used)

    @property
    def _address(self) -> re.Match[str]:
        found = [match for each in self.said if (match := ADDRESS.match(each))]
        assert found, self.said
        return found[-1]


@contextmanager
def web(home: Path, *options: str) -> Iterator[Web]:
    """Run the command for the person whose home this is."""
    process = subprocess.Popen(
        [*PROGRAM, "web", *options],
        env=environment(HOME=str(home)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    running = Web(process)
    reading = [
        threading.Thread(target=_read, args=each, daemon=True)
        for each in ((process.stdout, running.said), (process.stderr, running.warned))
    ]
    for each in reading:
        each.start()
    try:
        wait_for(lambda: any(map(ADDRESS.match, running.said)) or process.poll() is not None)
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == running.ends
        for each in reading:
            each.join()


def read_to_the_end(page: Page) -> None:
    """Read the request that is shown as far as it goes, and say so."""
    said = page.get_by_label("I have read all of it")
    expect(said).to_be_visible()  # it stands below the request, so all of that has come
    page.locator(".request").evaluate("box => box.scrollTo(0, box.scrollHeight)")
    said.check()


def ask(home: Path, *requests: ApprovalRequest) -> None:
    """Put requests where a person finds them, as a proxy of this home does."""

    async def all_of_them(directory: ApprovalDirectory) -> None:
        for request in requests:
            await directory.ask(request)

    _in_directory(home, all_of_them)


def use(home: Path, request: ApprovalRequest) -> ApprovalOutcome | None:
    """Use the answer to a request, as a proxy of this home does when the call comes again."""

    async def taken(directory: ApprovalDirectory) -> ApprovalOutcome | None:
        return await directory.take(request.binding)

    return _in_directory(home, taken)


def answers(home: Path) -> dict[str, str]:
    """Return the ids of the requests that were answered, with the answer's file as it is."""
    found = (home / ".ironcurtain" / "approvals").glob("response-*.json")
    return {path.stem.removeprefix("response-"): path.read_text() for path in found}


def _in_directory(home: Path, does: Callable[[ApprovalDirectory], Awaitable[T]]) -> T:
    own = home / ".ironcurtain"

    async def opened() -> T:
        with ApprovalDirectory.open(own / "approvals", own / "approvals.key") as directory:
            return await does(directory)

    # Playwright keeps an event loop in the thread of the test.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, opened).result()


def _read(stream: IO[str], lines: list[str]) -> None:
    with stream:
        for line in stream:
            lines.append(line.rstrip("\n"))  # noqa: PERF401 - it is read meanwhile
