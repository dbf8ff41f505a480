"""Variables in a server's entry: `${NAME}`, `${NAME:-otherwise}`, and `${env:NAME}` as editors write it.

They are filled in when the server is started, from the environment that the proxy was started in; what is
filled in is written nowhere. A reference to the key store is no variable, and none can be put together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from ironcurtain.errors import ServerConfigError
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.fetched.launchers import shell_line
from ironcurtain.system.key_store import filled
from ironcurtain.system.text import quoted

VARIABLE = re.compile(
    r"\$\{(?P<editors>env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<rest>:-(?P<otherwise>[^{}]*))?\}"
)


def filled_server(server: Server, where: str) -> Server:
    """Return a server with its variables, and the secrets that it names, filled in.

    In the line of a shell, one that is not set is left to the shell, whose own it may be.

    Raises:
        ServerConfigError: If a variable is not set and nothing stands for it, or a secret cannot be read.
    """

    def fill(text: str) -> str:
        return VARIABLE.sub(lambda found: _required(found, where), text)

    is_line = shell_line((server.command or "", *server.args)) != ""
    told = _changed(server, fill, _filled_where_set if is_line else fill)
    return told.model_copy(
        update={key: filled(getattr(server, key), where, fill) for key in ("env", "headers")}
    )


def variables_of(server: Server) -> dict[str, str]:
    """Return the variables that an entry names, by name, each as its client would fill in its value alone."""
    plain = (server.command, server.cwd, server.url, *server.args)
    return {
        found["name"]: f"${{{found['editors'] or ''}{found['name']}{':-' if found['rest'] else ''}}}"
        for text in (*plain, *server.env.values(), *server.headers.values())
        for found in VARIABLE.finditer(text or "")
    }


def filled_where_set(server: Server) -> Server:
    """Return a server with those variables filled in that are set: what it names, not how it is started."""
    env = {name: _filled_where_set(text) for name, text in server.env.items()}
    return _changed(server, _filled_where_set, _filled_where_set).model_copy(update={"env": env})


def _changed(server: Server, fill: Callable[[str], str], fill_argument: Callable[[str], str]) -> Server:
    texts = {key: getattr(server, key) for key in ("command", "cwd", "url")}
    change = {key: fill(text) for key, text in texts.items() if text is not None}
    return server.model_copy(update={**change, "args": tuple(map(fill_argument, server.args))})


def _filled_where_set(text: str) -> str:
    return VARIABLE.sub(lambda found: found[0] if (value := _value(found)) is None else value, text)


def _required(found: re.Match[str], where: str) -> str:
    value = _value(found)
    if value is None:
        name = found["name"]
        raise ServerConfigError(
            f"the variable {quoted(name)} is not set where the proxy was started",
            where=where,
            hint=f"Set it in the client's environment, or write ${{{name}:-VALUE}} into the entry.",
        )
    return value


def _value(found: re.Match[str]) -> str | None:
    """Return what stands for a variable; None where it is not set and nothing does."""
    value = os.environ.get(found["name"])
    if value is not None and (itself := VARIABLE.fullmatch(value)) and itself["name"] == found["name"]:
        value = None  # a client that fills in nothing has handed it on as its entry has it
    return (value or found["otherwise"]) if found["rest"] is not None else value
