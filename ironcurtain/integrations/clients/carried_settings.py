"""Filters and settings that a client had for each server, carried over to the one server that it has then.

Tools get the names that the proxy gives them. What cannot hold for one server among others is named as lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ironcurtain.servers.endpoint_names import endpoint_name
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_LEAVES_OUT = {
    "excludeTools": "excludeTools",
    "includeTools": "excludeTools",
    "disabled_tools": "disabled_tools",
    "enabled_tools": "disabled_tools",
    "disabledTools": "disabledTools",
}
"""By the name of a filter that which leaves tools out: with it, tools of other servers stay as they are."""
_ONLY = frozenset({"includeTools", "enabled_tools", "available_tools"})
_OFFERED = "available_tools"
_APPROVED = ("autoApprove", "alwaysAllow")
_TRUSTED = "trust"
_SECONDS = ("timeout", "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec")
_SWITCHES = ("disabled", "enabled")
SETTINGS = frozenset({*_LEAVES_OUT, _OFFERED, *_APPROVED, _TRUSTED, *_SECONDS, *_SWITCHES})
"""Members of a server that say what its client does with it, and nothing of the server itself."""


class CarriedSettings(Struct):
    """What the client's one server says of those behind it.

    Attributes:
        members: Members of its entry.
        notes: What was carried over, and what was not.
    """

    members: dict[str, JsonValue]
    notes: tuple[str, ...] = ()


def carried(
    servers: Mapping[str, Mapping[str, JsonValue]],
    tools: Mapping[str, Sequence[str]],
    timeouts: Mapping[str, int],
) -> CarriedSettings:
    """Return the settings of servers for the one that they move behind.

    Args:
        servers: The servers that move, as the client has them.
        tools: The names of the tools that the policy knows, by server; the proxy shows no others.
        timeouts: What the client waits for a server whose entry does not say.
    """
    members: dict[str, JsonValue] = {}
    notes: list[str] = []
    for found, why in (
        _filters(servers, tools),
        _approvals(servers, tools),
        _timeouts(servers, timeouts),
    ):
        members |= found
        notes += why
    trusted = [name for name, server in servers.items() if server.get(_TRUSTED) is True]
    if trusted and len(trusted) == len(servers):
        members[_TRUSTED] = True
    elif trusted:
        names = ", ".join(map(visible, trusted))
        notes.append(f"trust of {names} is lost: it would hold for every server behind the proxy")
    told = [f"{key} is carried over: {_shown(value)}" for key, value in members.items()]
    return CarriedSettings(members, (*told, *notes))


def _filters(
    servers: Mapping[str, Mapping[str, JsonValue]], tools: Mapping[str, Sequence[str]]
) -> tuple[dict[str, JsonValue], list[str]]:
    """Return which tools the client does not offer."""
    out: dict[str, list[JsonValue]] = {}
    notes = []
    offered: list[JsonValue] = []
    for name, server in servers.items():
        known = tools.get(name, ())
        for key in (key for key in (*_LEAVES_OUT, _OFFERED) if key in server):
            named = _names(server[key])
            strange = [each for each in named if each not in known]
            if strange and known:
                unknown = ", ".join(map(visible, strange))
                notes.append(f"{key} of {visible(name)} names what the policy does not know: {unknown}")
            if key != _OFFERED:
                left = [each for each in known if (each in named) is (key not in _ONLY)]
                out.setdefault(_LEAVES_OUT[key], []).extend(endpoint_name(name, each) for each in left)
        only = _names(server.get(_OFFERED))
        offered += [endpoint_name(name, each) for each in known if not only or each in only]
    if any(_names(server.get(_OFFERED)) for server in servers.values()):
        out[_OFFERED] = offered
    return {key: list(dict.fromkeys(map(str, found))) for key, found in out.items() if found}, notes


def _approvals(
    servers: Mapping[str, Mapping[str, JsonValue]], tools: Mapping[str, Sequence[str]]
) -> tuple[dict[str, JsonValue], list[str]]:
    """Return which tools the client does not ask about."""
    found: dict[str, JsonValue] = {}
    for key in _APPROVED:
        names = [
            endpoint_name(name, tool)
            for name, server in servers.items()
            for each in _names(server.get(key))
            for tool in (tools.get(name, ()) if each == "*" else (each,))
        ]
        if names:
            found[key] = [*names]
    return found, []


def _timeouts(
    servers: Mapping[str, Mapping[str, JsonValue]], defaults: Mapping[str, int]
) -> tuple[dict[str, JsonValue], list[str]]:
    """Return how long the client waits: for the one server as long as for the slowest of them."""
    found: dict[str, JsonValue] = {}
    lost = []
    for key in _SECONDS:
        given = [value for server in servers.values() if isinstance(value := server.get(key), int | float)]
        missing = len(given) < len(servers)
        if given and missing and key not in defaults:
            lost.append(f"{key} is lost: only some of the servers have one")
        elif given:
            found[key] = max(*given, *([defaults[key]] if missing else given))
    return found, lost


def _names(value: JsonValue) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _shown(value: JsonValue) -> str:
    return ", ".join(_texts(value)) if isinstance(value, list) else visible(str(value).lower())


def _texts(values: Sequence[JsonValue]) -> Iterator[str]:
    yield from (visible(str(value)) for value in values)
