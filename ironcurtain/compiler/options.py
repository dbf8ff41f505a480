"""How a constitution is compiled: what the command line and the project's settings say."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.provenance_model import Source
from ironcurtain.compiler.llm.question import Provider
from ironcurtain.compiler.render.assemble import Release
from ironcurtain.compiler.verify.gate_judgement import Gate
from ironcurtain.engine.locate import Opa
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.policy import Approver
from ironcurtain.servers.tool_lists.ahead import ListsAhead
from ironcurtain.system.structs import Struct, field


class Options(Struct):
    """How to compile.

    Attributes:
        provider: Makes the provider when the first question has to be asked; None for a locked compile.
        gate: Judges the policy before it is published, as `ironcurtain verify` does.
        serial: Number of the policy for "not older than" checks.
        sources: What people wrote for this compile, by digest.
        roles: Identifier roles that the project adds.
        approvers: Whose approval rules can ask for, by name.
        caller: What rules may test of the caller, by key.
        directories: Directories that the configuration defines, by the name that clauses use.
        saved_tools: Prefer saved tool lists over live servers.
        offline: Start no server: tool lists are saved or recorded ones, or the compile fails.
        refresh: Stages whose questions are asked anew, whatever answers are kept.
        intent: Whether to ask for scenarios of what the author means; None takes those that are kept.
        repair: Whether to ask who judges and repairs what fails; kept answers are used either way.
        runs: How often the rules are compiled, to compare the results.
        second: Makes the provider of the second and later runs; None takes `provider`.
        sign: Signs the bundle; the signed archive is published beside the other one.
        ahead: The tool lists that are being read; None reads them when they are needed.
    """

    provider: Callable[[], Provider] | None
    gate: Gate
    serial: int
    case_insensitive_hosts: frozenset[str]
    sources: tuple[Source, ...]
    roles: tuple[IdentifierRole, ...] = ()
    approvers: Mapping[str, Approver] = field(default_factory=dict)
    caller: Mapping[str, CallerFact] = field(default_factory=dict)
    directories: Mapping[str, str] = field(default_factory=dict)
    saved_tools: bool = False
    offline: bool = False
    refresh: frozenset[str] = frozenset()
    intent: bool | None = None
    repair: bool = True
    runs: int = 1
    second: Callable[[], Provider] | None = None
    sign: Callable[[Bundle], Bundle] | None = None
    ahead: ListsAhead | None = None

    def release(self, opa: Opa) -> Release:
        """Return what bundles say about themselves."""
        return Release(opa.version, self.serial, case_insensitive_hosts=self.case_insensitive_hosts)
