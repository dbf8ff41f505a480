"""What surrounds a server behind the proxy: its sandbox, and what it is told of its client.

The proxy starts its servers in it, and whoever wants to see what they list there (`drift`, `doctor`) starts
them in the same: `list_as_proxied`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.origin import origin
from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.decision.on_this_machine import load_on_this_machine
from ironcurtain.decision.rule_scope import can_apply
from ironcurtain.enforcement.proxy.options import own_places
from ironcurtain.enforcement.sandbox.data_directory import data_place
from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.enforcement.sandbox.reach.reach import NOTHING, Reach, reach_of, reaches
from ironcurtain.enforcement.sandbox.tool_discovery import contained_launcher
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.verdict import Verdict
from ironcurtain.servers.config import ServerConfig, real_paths
from ironcurtain.servers.tool_lists.listing import list_reachable
from ironcurtain.servers.tool_lists.live import Roots
from ironcurtain.servers.tools import Tools
from ironcurtain.settings import user_directory
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.kept_results import keep, read_kept
from ironcurtain.system.structs import replace


def sandbox_inputs(
    config: ServerConfig,
    content: PolicyContent,
    deployment: Deployment,
    *,
    bundle: Path,
    files: Iterable[Path] = (),
    observe: bool = False,
) -> SandboxInputs:
    """Return what the sandboxes of a policy's servers are made from.

    Args:
        config: The servers.
        content: The policy.
        deployment: Where it is enforced.
        bundle: Where it was read.
        files: What else the proxy is configured by.
        observe: Whether nothing is enforced.
    """
    home = Path(deployment.home)
    reached, asked = reaches(content, config.servers, observe=observe)
    # `~` is what the policy takes it for; as it is written, the operating system would look for that name.
    named = [deployment.sandbox] if deployment.sandbox is not None else []
    return SandboxInputs(
        home=home,
        workspace=next(iter(real_paths(named, home=home, directory=Path.cwd())), None),
        own=tuple(own_places()),
        protected=tuple(map(Path, deployment.protected)),
        directory=config.directory,
        settings=config.sandbox.filesystem,
        configuration=(*config.files, *files, *origin(bundle, ())),
        reaches=reached,
        asked=asked,
        data=partial(data_place, config.path),
    )


class EnforcedHere(Frozen):
    """That a proxy of this user has enforced a policy with the servers of a file."""

    revision: str


NARROWER = (
    "servers are read in the sandbox of a compile, since no proxy has enforced this policy with them here: "
    "behind the proxy rules open more to them, and they may write other texts"
)


def note_enforced(config: ServerConfig, revision: str) -> None:
    """Record that a person lets a policy open to these servers what its rules permit."""
    with suppress(OSError):  # then they are read in a narrower sandbox
        keep(_record(config, revision), EnforcedHere(revision=revision))


def was_enforced(config: ServerConfig, revision: str) -> bool:
    """Tell whether a proxy has enforced a policy with these servers as they are written now.

    A project that was cloned brings rules and servers of its own: what these open is opened to a server that
    is only read where a person has had it opened before.
    """
    return read_kept(_record(config, revision), EnforcedHere) is not None


def _record(config: ServerConfig, revision: str) -> Path:
    file = config.path
    written = json_text.digest_bytes(file.read_bytes()) if file.is_file() else ""
    key = json_text.digest([os.path.realpath(file), written, revision]).removeprefix("sha256:")
    return user_directory() / "enforced" / f"{key}.json"


def _opens_more(config: ServerConfig, inputs: SandboxInputs) -> bool:
    """Tell whether a contained server reaches behind the proxy what it does not reach without a policy."""
    contained = [name for name, each in config.servers.items() if each.command and each.sandbox is not False]
    return any(inputs.reach(name) != NOTHING for name in contained)


def could_ask(content: PolicyContent, server: str, tool: str) -> bool:
    """Tell whether the policy could let a server ask its client for something; a doubt means yes."""
    listed = content.tools.get((server, tool))
    return listed is not None and any(
        rule.if_ is None or can_apply(rule.if_, rule.then, server, listed)
        for rule in content.rules.values()
        if rule.then is not Verdict.DENY
    )


def roots_of(content: PolicyContent, loaded: LoadedPolicy, server: str) -> list[str]:
    """Return the directories that a server is told to work in where its client names none."""
    around = loaded.canonicalization(server)
    resolver = Resolver(around.world, home=around.home)
    return policy_roots(
        reach_of(content, server, {Verdict.ALLOW}), loaded.boundaries(server).sandbox, resolver
    )


def policy_roots(reach: Reach, sandbox: str | None, resolver: Resolver) -> list[str]:
    """Return the sandbox first, then every directory in which rules let the server do something.

    Directories are real ones, each once; `/` is one of them where a rule names no place. They are a help for
    servers that serve nothing outside their roots, no permission.

    Args:
        reach: What the rules open to the server.
        sandbox: The session's sandbox.
        resolver: Resolves paths.
    """
    named = [*((sandbox,) if reach.session else ()), *reach.reads.named, *reach.writes.named]
    if reach.reads.anywhere or reach.writes.anywhere:
        named.append("/")
    real: dict[str, None] = {}
    for path in named:
        if path is None:
            continue
        try:
            real.setdefault(resolver.resolve(path, None))
        except UnrepresentableError:
            continue
    return list(real)


def list_as_proxied(
    bundle: Bundle,
    place: Path,
    config: ServerConfig,
    say: Callable[[str], None],
    *,
    sandbox: str | Path | None,
    only: Iterable[str] | None = None,
    timeout: float,
) -> tuple[Tools, dict[str, list[IronCurtainError]]]:
    """Start servers as the proxy does, for a client that can do all that they may ask, and list them.

    Where no proxy has enforced the policy with them, they see no more than while they are annotated.

    Args:
        bundle: The policy that is enforced.
        place: Where it was read.
        config: The servers.
        say: Told what has to be known of their sandboxes.
        sandbox: The session's working directory, if there is one.
        only: Names of the servers to read; all by default.
        timeout: Seconds for each.

    Returns:
        As `list_reachable` does.

    Raises:
        ServerConfigError: For a name that is not configured.
        SandboxMissingError: If servers have to be contained and cannot be.
        IronCurtainError: If the policy cannot be used with these directories.
    """
    inputs, roots = _around(bundle, place, config, sandbox)
    launcher = contained_launcher(say, lambda _: inputs)
    if not was_enforced(config, bundle.revision) and _opens_more(config, inputs):
        say(NARROWER)
        launcher = contained_launcher(say)
    return list_reachable(config, launcher, only=only, timeout=timeout, roots_of=roots)


def failing_as_proxied(
    bundle: Bundle,
    place: Path,
    config: ServerConfig,
    say: Callable[[str], None],
    *,
    sandbox: str | Path | None,
) -> dict[str, list[IronCurtainError]]:
    """Start servers that have a command, each, as `list_as_proxied` does; return what is wrong, by name.

    A person has just asked for the policy to be enforced with them: their sandboxes are those of the proxy,
    but for what they keep.
    """
    inputs, roots = _around(bundle, place, config, sandbox)
    launcher = contained_launcher(say, lambda _: replace(inputs, data=None))
    return list_reachable(config, launcher, roots_of=roots)[1]


def _around(
    bundle: Bundle, place: Path, config: ServerConfig, sandbox: str | Path | None
) -> tuple[SandboxInputs, Callable[[str], Roots]]:
    """Return what sandboxes behind the proxy are made from, and the roots of servers."""
    home = str(Path.home())
    protected = (place, *config.own, *own_places())
    loaded = load_on_this_machine(
        bundle,
        place,
        home=home,
        sandbox=sandbox,
        protected=protected,
        config=config,
        reachable=config.writable(Path(home)),
    )
    content = loaded.content
    inputs = sandbox_inputs(config, content, loaded.deployment, bundle=place)

    def roots(server: str) -> Roots:
        paths = roots_of(content, loaded, server)
        return [{"uri": PurePosixPath(path).as_uri(), "name": path} for path in paths]

    return inputs, roots
