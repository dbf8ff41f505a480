"""A bundle as it decides on this machine: its directories, the servers' configuration, kernel and git."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.origin import origin
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.servers.config import ServerConfig
from ironcurtain.system.files import absolute

# What a server's git can see of our environment, beside what the configuration gives it.
_INHERITED = ("PATH", "XDG_CONFIG_HOME")


def load_on_this_machine(  # noqa: PLR0913 - each is a fact of one place
    bundle: Bundle,
    place: Path,
    *,
    home: str,
    sandbox: str | Path | None,
    protected: Iterable[str | Path],
    config: ServerConfig | None,
    reachable: tuple[Path, ...],
    unchangeable: Iterable[str | Path] = (),
) -> LoadedPolicy:
    """Load a bundle that was read for enforcement.

    Args:
        bundle: The bundle.
        place: Where it was read: the project that it was made from is protected (`bundle/origin.py`).
        home: The home directory.
        sandbox: The session's working directory, if there is one.
        protected: What no tool may touch, beside that project.
        unchangeable: What no tool may change.
        config: The servers, for working roots and domain lists.
        reachable: What tools or contained servers can write: no program is taken from there.

    Raises:
        IronCurtainError: If the bundle or the directories cannot be used.
    """
    content = PolicyContent.of(bundle)
    servers = config.servers if config else {}
    base = config.directory if config else Path()
    known = [*protected, *origin(place, sorted({*content.sources.values()}))]
    deployment = Deployment(
        home=absolute(home),
        sandbox=absolute(sandbox) if sandbox is not None else None,
        protected=tuple(absolute(path) for path in known),
        unchangeable=tuple(absolute(path) for path in unchangeable),
        working_roots={n: absolute(base / s.working_root) for n, s in servers.items() if s.working_root},
        domains={name: s.domains for name, s in servers.items() if s.domains is not None},
    )
    environments = _git_environments(deployment.home, config)
    host = ThisHost(home=deployment.home, git_environ=environments, reachable=reachable)
    return LoadedPolicy(content, deployment, host)


def _git_environments(home: str, config: ServerConfig | None) -> dict[str, dict[str, str]]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    servers = config.servers if config else {}
    return {name: {"HOME": home, **inherited, **server.env} for name, server in servers.items()}
