"""What the sandboxes of servers let through: asked before a call, said with the result of a failed one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import anyio

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.enforcement.calls.destination import ServerResult
from ironcurtain.enforcement.calls.reach import Reach, Send
from ironcurtain.enforcement.proxy.upstream.local import LocalServer
from ironcurtain.enforcement.proxy.upstream.upstream import Upstream
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.system.text import quoted, visible

_HELD = re.compile(
    r"EROFS|EBUSY|EXDEV|Read-only file system|Device or resource busy|Invalid cross-device link"
)
"""How operating systems, and programs after them, name what a mount refuses."""
_MOST_SHOWN = 3
_PATIENCE = 1.0
_POLL = 0.02


class ServersReach(Reach):
    """The reach of the servers behind one proxy.

    Args:
        launcher: Knows their sandboxes.
        upstreams: The servers, by name.
        say: Tells the person who started the proxy.
    """

    def __init__(
        self,
        launcher: SandboxLauncher,
        upstreams: Mapping[str, Upstream | LocalServer],
        say: Callable[[str], None],
    ) -> None:
        self._launcher, self._upstreams, self._say = launcher, upstreams, say

    def beyond(self, server: str, resources: Iterable[Resource], *, asked: bool) -> str:
        """Return why a server's sandbox keeps it from a call: from starting, or from what the call names."""
        upstream = self._upstreams.get(server)
        stopped = upstream.restarts.stopped if isinstance(upstream, Upstream) else ""
        return stopped or self._launcher.beyond(server, resources, asked=asked)

    def needs_own_process(self, server: str, resources: Iterable[Resource]) -> bool:
        """Tell whether an approved call needs a server process of its own."""
        return self._launcher.is_apart(server, resources)

    async def carry(self, server: str, resources: Sequence[Resource], send: Send) -> ServerResult:
        """Send a call with the directories that it is about among the roots of its server."""
        upstream = self._upstreams.get(server)
        if upstream is None:
            return await send()
        paths = [resource.value for resource in resources]
        async with upstream.roots.during(paths, upstream.notify_roots_changed):
            return await explained(self._launcher, server, resources, send)

    def say(self, text: str) -> None:
        """Tell the person who started the proxy."""
        self._say(text)


async def explained(
    launcher: SandboxLauncher, server: str, resources: Sequence[Resource], send: Send
) -> ServerResult:
    """Send a call; say in the result of one that failed what its server's sandbox had to do with it.

    Args:
        launcher: Knows the sandbox.
        server: The server.
        resources: The paths of the call.
        send: Sends it.
    """
    before = len(launcher.violations(server))
    result = await send()
    content = result.get("content")
    if result.get("isError") is not True or not isinstance(content, list) or not launcher.contains(server):
        return result
    words = launcher.across_mounts(server, [resource.value for resource in resources if resource.role.writes])
    is_held = any(_HELD.search(str(block)) for block in content)
    if seen := await _refused(launcher, server, before, seconds=_PATIENCE if is_held else 0):
        words = f"its sandbox refused meanwhile: {'; '.join(map(visible, seen[:_MOST_SHOWN]))}"
        if mends := next(filter(None, (launcher.mends(server, each) for each in seen)), ""):
            words += f". If it should do that: {mends}"
    if not words and is_held:
        words = (
            "its sandbox may be what refused it: what lies outside its places is read-only, and so is what "
            "is code in repositories (.git/config, hooks), or all of .git for a server without tools for it"
        )
    if not words:
        return result
    said = f"The policy permits this call of the server {quoted(server)}; {words}."
    return {**result, "content": [*content, {"type": "text", "text": said}]}


async def _refused(launcher: SandboxLauncher, server: str, before: int, *, seconds: float) -> list[str]:
    """Return what a server was refused meanwhile, of which the sandbox may tell a moment after the answer.

    It tells one thing after another: what it has told is all when for one moment nothing was added.
    """
    end = anyio.current_time() + seconds
    seen = launcher.violations(server)[before:]
    while anyio.current_time() < end:
        await anyio.sleep(_POLL)
        told, seen = seen, launcher.violations(server)[before:]
        if told and told == seen:
            break
    return seen
