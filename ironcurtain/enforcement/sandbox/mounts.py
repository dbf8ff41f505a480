"""What a started server's sandbox lets through, asked before a call is sent to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.urls import DEFAULT_PORTS, Url
from ironcurtain.enforcement.sandbox.profile import Profile

_SCHEMES = frozenset({"http", "https"})


@dataclass(frozen=True)
class Mounts:
    """The settings of one started sandbox; paths are real ones.

    Attributes:
        readable: What is shown of hidden places; what can be written is, too.
        hidden: What cannot be read.
        writable: What can be written.
        held: What of that cannot.
        domains: Hosts that can be contacted, `*.` for subdomains, some with a port.
        barred: Those of these that cannot.
    """

    readable: frozenset[str]
    hidden: frozenset[str]
    writable: frozenset[str]
    held: frozenset[str]
    domains: tuple[str, ...]
    barred: tuple[str, ...]

    @classmethod
    def of(cls, profile: Profile) -> Mounts:
        """Return the mounts of a profile."""
        return cls(
            readable=_names([*profile.allow_read, *profile.allow_write]),
            hidden=_names(profile.deny_read),
            writable=_names(profile.allow_write),
            held=_names(profile.deny_write),
            domains=profile.allowed_domains,
            barred=profile.denied_domains,
        )

    def can_read(self, path: str) -> bool:
        """Tell whether a file can be read: the deepest place that holds it decides; of two the open one."""
        return _depth(path, self.readable) >= _depth(path, self.hidden)

    def hidden_below(self, path: str) -> frozenset[str]:
        """Return what of a tree cannot be read."""
        return frozenset(each for each in self.hidden if PurePosixPath(path) in PurePosixPath(each).parents)

    def can_write(self, path: str) -> bool:
        """Tell whether a file can be written: what is held wins."""
        return _depth(path, self.writable) > 0 and not _depth(path, self.held) and self.can_read(path)

    def mount_of(self, path: str) -> str:
        """Return the place that a file is writable in; `/` for none."""
        pure = PurePosixPath(path)
        return next((str(each) for each in (pure, *pure.parents) if str(each) in self.writable), "/")

    def can_contact(self, host: str, port: int | None) -> bool:
        """Tell whether a host can be contacted."""
        barred = any(names_host(domain, host, port) for domain in self.barred)
        return not barred and any(names_host(domain, host, port) for domain in self.domains)


def _names(paths: Iterable[Path]) -> frozenset[str]:
    return frozenset(map(str, paths))


def _depth(path: str, places: frozenset[str]) -> int:
    """Return how deep the deepest place lies that is the path or holds it; 0 for none."""
    pure = PurePosixPath(path)
    return max((len(each.parts) for each in (pure, *pure.parents) if str(each) in places), default=0)


def names_host(domain: str, host: str, port: int | None) -> bool:
    """Tell whether an entry of a domain list names a host: `*.` is any of its subdomains."""
    name, _, wanted = domain.rpartition(":")
    if not name or not wanted.isdigit() or "]" in wanted:
        name, wanted = domain, ""
    if wanted and str(port) != wanted:
        return False
    return host.endswith(name[1:]) if name.startswith("*.") else host == name


def beyond(mounts: Mounts, subject: Resource) -> str:
    """Return what a sandbox keeps a call from doing with one of its resources; nothing if it lets it."""
    if subject.unresolved is not None:
        return ""
    if isinstance(subject.resource, Url):
        url = subject.resource
        contacted = url.scheme in _SCHEMES and not mounts.can_contact(
            url.host.name, url.port or DEFAULT_PORTS[url.scheme]
        )
        return "contact" if contacted else ""
    if subject.role.category != "path":
        return ""
    if subject.role.writes:
        return "" if mounts.can_write(subject.value) else "write"
    return "" if mounts.can_read(subject.value) else "read"


def is_within(mounts: Mounts, subject: Resource) -> bool:
    """Tell whether a path or host of a call is one that a sandbox is known to let it reach."""
    if subject.unresolved is not None:
        return False
    if isinstance(subject.resource, Url):
        url = subject.resource
        return mounts.can_contact(url.host.name, url.port or DEFAULT_PORTS.get(url.scheme))
    return subject.role.category == "path" and not beyond(mounts, subject)
