"""What a session is enforced by, as its agent and its person are told."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.session.limits import Limits
from ironcurtain.session.permissions import ToolPermissions, permissions, policy_lines
from ironcurtain.session.system_prompt import system_prompt
from ironcurtain.system.structs import Struct


class SessionRules(Struct):
    """What a session is enforced by, as its agent and its person are told.

    Attributes:
        content: The policy.
        workspace: The agent's working directory.
        attended: Whether anybody can be asked.
        seconds: Seconds that a person has to answer.
        limits: Of a turn, and of the session.
    """

    content: PolicyContent
    workspace: Path | None
    attended: bool
    seconds: float
    limits: tuple[Limits, Limits]

    def tools(self, listed: Collection[str]) -> ToolPermissions:
        """Return what the policy says of the tools, of which some are offered."""
        return permissions(self.content, listed, has_workspace=self.workspace is not None)

    def prompt(self, listed: Collection[str]) -> str:
        """Return the system prompt."""
        return system_prompt(self.workspace, self.tools(listed), attended=self.attended)

    def lines(self, listed: Collection[str]) -> list[str]:
        """Return what the session may do, for its person."""
        turn, whole = self.limits
        told = policy_lines(self.content, self.tools(listed), attended=self.attended, seconds=self.seconds)
        return [*told, f"limits: a turn {turn}; the session {whole}"]
