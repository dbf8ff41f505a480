"""Where a policy is enforced: the directories and server settings that a bundle does not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Deployment:
    """The facts of one place of enforcement, or of the world that a verification assumes.

    Attributes:
        home: The home directory, absolute; what `~` means.
        sandbox: The session's working directory, absolute, or None: then nothing is contained.
        protected: Paths of the system's own files and directories, absolute.
        working_roots: By server, the directory its relative paths resolve against (default: sandbox).
        domains: By server, its domain list; a server that is missing has no domain gate.
    """

    home: str
    sandbox: str | None = None
    protected: tuple[str, ...] = ()
    working_roots: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def working_root(self, server: str) -> str | None:
        """Return the directory that a server's relative paths resolve against, or None."""
        return self.working_roots.get(server, self.sandbox)
