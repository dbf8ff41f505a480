"""What the policy permits and a server's sandbox does not: refused in its own words, or told afterwards."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol

import anyio

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.enforcement.proxy.calls.evaluated_call import EvaluatedCall
from ironcurtain.enforcement.proxy.calls.turns import path_resources
from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted, visible

"""The rule under which a call is refused that the policy permits and the server's sandbox does not."""


class Beyond(Protocol):
    """Returns why a server's sandbox keeps it from what a call names; nothing if it does not."""

    def __call__(self, server: str, resources: Iterable[Resource], /, *, asked: bool) -> str:
        """Return it; `asked` where a person is asked, so that a process of its own may be started."""


IsApart = Callable[[str, Iterable[Resource]], bool]
"""Tells whether an approved call needs a server process of its own."""

Send = Callable[[], Awaitable[dict[str, JsonValue]]]
"""Sends one call; returns its result as it came."""

Carry = Callable[[str, Sequence[Resource], Send], Awaitable[dict[str, JsonValue]]]
"""Sends one call about some paths to a server, with what that needs to serve them."""

_HELD = re.compile(
    r"EROFS|EBUSY|EXDEV|Read-only file system|Device or resource busy|Invalid cross-device link"
)
"""How operating systems, and programs after them, name what a mount refuses."""
_MOST_SHOWN = 3
_PATIENCE = 1.0
_POLL = 0.02


class SeparateCall(Struct):
    """A call that is sent to a server process of its own.

    Attributes:
        id: The decision's id.
        resources: What the call names: that is opened to the process.
        ready: Is awaited when the process is up, before the call is sent, with what is wrong with the process
            or nothing; raises `UpstreamError` where the call must not be sent.
    """

    id: str
    resources: tuple[Resource, ...]
    ready: Callable[[str], Awaitable[None]]


def nothing_beyond(server: str, resources: Iterable[Resource], *, asked: bool) -> str:  # noqa: ARG001 - `Beyond`
    """Know of no sandbox."""
    return ""


def never_apart(_server: str, _subjects: Iterable[Resource]) -> bool:
    """Know of no sandbox."""
    return False


async def plainly(_server: str, _subjects: Sequence[Resource], send: Send) -> dict[str, JsonValue]:
    """Send a call, and do nothing else."""
    return await send()


def unsaid(_text: str) -> None:
    """Have nobody to tell."""


class Reaching(Struct):
    """What servers' sandboxes and roots have to do with a call.

    Attributes:
        beyond: Tells why a server's sandbox keeps it from what a call names.
        is_apart: Tells whether an approved call needs a server process of its own.
        carry: Sends a call, with what its server needs to serve what it names.
        say: Tells the person who started the proxy.
    """

    beyond: Beyond = nothing_beyond
    is_apart: IsApart = never_apart
    carry: Carry = plainly
    say: Callable[[str], None] = unsaid


def within_reach(evaluated: EvaluatedCall, reaching: Reaching) -> EvaluatedCall:
    """Return a call as it was evaluated, refused where its server's sandbox would not let it through.

    It comes before a person is asked: nobody approves what cannot happen. Who started the proxy is told.
    """
    if evaluated.prepared is None or evaluated.decision.verdict is Verdict.DENY:
        return evaluated
    asked = evaluated.decision.verdict is Verdict.ESCALATE
    reason = reaching.beyond(evaluated.call.server, evaluated.prepared.call.resources, asked=asked)
    if not reason:
        return evaluated
    reaching.say(f"server {evaluated.call.server}: {reason}")
    refused = {
        "verdict": Verdict.DENY,
        "rule": ReservedRule.SANDBOX_OUT_OF_REACH.value,
        "reason": f"{reason[:1].upper()}{reason[1:]}.",
    }
    return replace(
        evaluated, decision=evaluated.decision.model_copy(update=refused), state="denied", forwarded=False
    )


def sent_apart(evaluated: EvaluatedCall, reaching: Reaching) -> EvaluatedCall:
    """Return an approved call marked as one for a server process of its own, where it needs that."""
    if evaluated.approval is None or not evaluated.forwarded:
        return evaluated
    return replace(evaluated, alone=reaching.is_apart(evaluated.call.server, resources_of(evaluated)))


def resources_of(evaluated: EvaluatedCall) -> tuple[Resource, ...]:
    """Return what a call names."""
    return evaluated.prepared.call.resources if evaluated.prepared else ()


def paths_of(evaluated: EvaluatedCall) -> list[Resource]:
    """Return the paths that a call was evaluated over."""
    return path_resources(evaluated.prepared) if evaluated.prepared else []


async def explained(
    launcher: SandboxLauncher, server: str, resources: Sequence[Resource], send: Send
) -> dict[str, JsonValue]:
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
