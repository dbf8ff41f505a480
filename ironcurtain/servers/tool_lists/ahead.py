"""Reading the tool lists of live servers while the rest of a program is loaded, and its files are read.

    with listing_ahead(Path("mcp-servers.json"), contained_launcher) as ahead:
        ...                                    # all that needs no list
        list_tools(config, launcher, read=ahead.reader(say))

The servers are ended in the background, too; the block ends when they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from anyio import to_thread

from ironcurtain.errors import IronCurtainError
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.launching import ServerLauncher
from ironcurtain.servers.permitted import project_servers
from ironcurtain.servers.tool_lists.listing import DEFAULT_TIMEOUT, LiveReader, is_started
from ironcurtain.servers.tool_lists.live import Listener, Outcome, Outcomes, list_each, list_side_by_side
from ironcurtain.system.background import process_scope
from ironcurtain.system.loop_thread import loop_thread
from ironcurtain.system.structs import replace

MakeLauncher = Callable[[Callable[[str], None]], ServerLauncher]
"""Makes what starts servers, given who is told what a person must know of that."""


@contextmanager
def listing_ahead(path: Path, make_launcher: MakeLauncher, *, saved: bool = False) -> Iterator[ListsAhead]:
    """Start the servers that a file names, and read their lists; where an error leaves the block, end that.

    Args:
        path: The servers' file. One that cannot be used is left to whoever reads it next.
        make_launcher: Makes what starts the servers.
        saved: Prefer a server's saved `tools` file where it has one.
    """
    with loop_thread() as portal:
        ahead = ListsAhead(_started_servers(path, saved=saved))
        reading = portal.start_task_soon(ahead.read, make_launcher)
        try:
            # What is loaded in this thread would hold up the other one.
            ahead.started.result()
            yield ahead
        except BaseException:
            reading.cancel()
            raise


def _started_servers(path: Path, *, saved: bool) -> ServerConfig | None:
    """Return the servers that are started to read their lists; None where the file names none."""
    if path.suffix == ".py":  # tools of its own, for which none is started
        return None
    try:
        config = project_servers(path)
    except IronCurtainError:
        return None
    live = {name: server for name, server in config.servers.items() if is_started(server, saved=saved)}
    return replace(config, servers=live) if live else None


class ListsAhead(Listener):
    """Lists that are being read.

    Args:
        config: The servers that are asked for them; None for none.

    Attributes:
        started: Done when all of these are started, or will not be.
    """

    def __init__(self, config: ServerConfig | None) -> None:
        self.started: Future[None] = Future()
        self._config = config
        self._lists: Future[Outcomes] = Future()
        self._waiting = set(config.servers) if config is not None else set()
        self._ended: Future[None] = Future()
        self._each: Outcomes = {}
        self._notes: list[str] = []
        self._say: Callable[[str], None] | None = None

    def reader(self, say: Callable[[str], None]) -> LiveReader:
        """Return what takes these lists if they are those asked for, and else reads them anew.

        Args:
            say: Told what a person must know of how the servers were started.
        """

        def read(config: ServerConfig, launcher: ServerLauncher, seconds: float) -> Outcomes:
            if config != self._config:
                return list_each(config, launcher, seconds)
            lists = self._lists.result()
            self._say = say
            self._tell()
            return lists

        return read

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Tell at the end of the block what was seen of servers after their lists were taken."""
        try:
            yield
        except Exception:
            self._tell_to_the_end()
            raise
        self._tell_to_the_end()

    def _tell_to_the_end(self) -> None:
        if self._say is not None:
            self._ended.result()
            self._tell()

    def _tell(self) -> None:
        while self._notes and self._say is not None:
            self._say(self._notes.pop(0))

    async def read(self, make_launcher: MakeLauncher) -> None:
        """Read the lists. What keeps them from being read is raised where they are asked for."""
        try:
            if self._config is not None:
                launcher = make_launcher(self._notes.append)
                with process_scope():
                    start = await to_thread.run_sync(launcher, self._config, abandon_on_cancel=True)
                await list_side_by_side(self._config, start, DEFAULT_TIMEOUT, self)
        except BaseException as error:
            if not self._lists.done():
                self._lists.set_exception(error)
            if not isinstance(error, IronCurtainError):
                raise
        finally:
            self._wait_no_longer()
            self._ended.set_result(None)

    def running(self, server: str) -> None:
        """Take note that a server has been started."""
        self._waiting.discard(server)
        if not self._waiting:
            self._wait_no_longer()

    def listed(self, server: str, outcome: Outcome) -> None:
        """Take a server's outcome; what becomes of it afterwards is no matter of its list."""
        self.running(server)
        self._each.setdefault(server, outcome)
        if (
            self._config is not None
            and len(self._each) == len(self._config.servers)
            and not self._lists.done()
        ):
            self._lists.set_result({name: self._each[name] for name in self._config.servers})

    def _wait_no_longer(self) -> None:
        if not self.started.done():
            self.started.set_result(None)
