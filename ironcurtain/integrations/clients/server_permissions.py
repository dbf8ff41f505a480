"""What `servers add --allow-write --allow-domain` adds to the sandbox of one server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.enforcement.sandbox.profile import can_be_let_through
from ironcurtain.errors import UsageError
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible


@dataclass(frozen=True)
class Permissions:
    """Directories to write, and domains to contact.

    Attributes:
        write: Absolute, or from the home on.
        domains: Names, `*.` for subdomains.
    """

    write: tuple[str, ...]
    domains: tuple[str, ...]

    @classmethod
    def of(cls, write: Iterable[str], domains: Iterable[str]) -> Permissions:
        """Take what the command line says; what is relative there starts where the command runs.

        Raises:
            UsageError: If one is no domain.
        """
        for domain in (found := tuple(domains)):
            if not can_be_let_through(domain):
                raise UsageError(
                    f"{quoted(domain)} is no domain", hint="Write a name: example.com, or *.example.com."
                )
        return cls(tuple(_placed(path) for path in write), found)

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self.write or self.domains)

    @property
    def words(self) -> list[str]:
        """What the server may do by them, a few words each."""
        return [
            *(f"may write {visible(path)}" for path in self.write),
            *(f"may contact {visible(domain)}" for domain in self.domains),
        ]

    def added_to(self, sandbox: Mapping[str, JsonValue], permitted: Iterable[str]) -> dict[str, JsonValue]:
        """Return the key `sandbox` with these permissions more.

        Args:
            sandbox: The key as it is, of a file that is valid.
            permitted: Domains that the rules open, for a server that has no list of its own yet.
        """
        made = dict(sandbox)
        if self.write:
            files = _object(made.get("filesystem"))
            made["filesystem"] = {**files, "allowWrite": _united(_texts(files.get("allowWrite")), self.write)}
        if self.domains:
            network = _object(made.get("network"))
            there = _texts(network["allowedDomains"]) if "allowedDomains" in network else permitted
            made["network"] = {**network, "allowedDomains": _united(there, self.domains)}
        return made


def _placed(path: str) -> str:
    return path if path == "~" or path.startswith(("~/", "/")) else str(Path(path).absolute())


def _object(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _texts(value: JsonValue) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _united(there: Iterable[str], more: Iterable[str]) -> list[JsonValue]:
    return list(dict.fromkeys([*there, *more]))
