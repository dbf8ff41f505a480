"""The one exception tree: every failure a person can meet, with a stable code and an exit status.

Library code raises these and never prints or exits; `ironcurtain.cli` alone turns them into text and
a process status. Each class is documented for users by the page ``docs/errors/<code>.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar


class Exit(IntEnum):
    """The exit codes of every command. Only `YES` ever means "go ahead"."""

    YES = 0
    NO = 1
    USAGE = 2
    NO_ANSWER = 3
    PERSON = 4
    BUG = 70
    INTERRUPTED = 130


@dataclass(frozen=True)
class Place:
    """Where a mistake stands: a file (or other source) and, where known, its 1-based line and column."""

    source: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """Render as `file`, `file:line` or `file:line:column`, as editors read it."""
        parts = [self.source, *(str(n) for n in (self.line, self.column) if n is not None)]
        return ":".join(parts)


class IronCurtainError(Exception):
    """Base of all our errors.

    Attributes:
        code: Stable identifier `ICnnnn`, also the name of the documentation page.
        exit: The process status that the command line ends with.
        what: One sentence: what is wrong.
        where: Where it is wrong, if it has a place.
        hint: One sentence: what to do about it.
        block: Lines to put into a file as they are, in the file's own format.
    """

    code: ClassVar[str] = "IC0001"
    exit: ClassVar[Exit] = Exit.BUG

    def __init__(
        self, what: str, *, where: Place | str | None = None, hint: str = "", block: Sequence[str] = ()
    ) -> None:
        super().__init__(what)
        self.what = what
        self.where = Place(where) if isinstance(where, str) else where
        self.hint = hint
        self.block = tuple(block)

    def __str__(self) -> str:
        """Say what is wrong and where, as Python's own errors name a file."""
        return self.what if self.where is None else f"{self.what}: {str(self.where)!r}"


class SeveralErrors(IronCurtainError):  # noqa: N818 - it is several errors
    """Several mistakes found in one run, reported together.

    Its `exit` is that of its first error: errors of one stage share one exit code.
    """

    code = "IC0002"

    def __init__(self, errors: list[IronCurtainError]) -> None:
        super().__init__(f"{len(errors)} errors")
        self.errors = errors

    def __str__(self) -> str:
        """Say all of them."""
        return "; ".join(str(error) for error in self.errors)


def raise_all(errors: list[IronCurtainError]) -> None:
    """Raise nothing, the one error, or all of them as `SeveralErrors`."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SeveralErrors(errors)


# -- configuration and input files: exit 2 ------------------------------------------------------


class UsageError(IronCurtainError):
    """An option or argument of a command is wrong."""

    code = "IC1001"
    exit = Exit.USAGE


class FileError(IronCurtainError):
    """A file that a person wrote is missing, unreadable, empty, too large, no UTF-8, or open to others."""

    code = "IC1002"
    exit = Exit.USAGE


class FormatError(IronCurtainError):
    """A file is not of the shape that its kind demands (syntax, unknown key, wrong type)."""

    code = "IC1003"
    exit = Exit.USAGE


class NewerFormatError(IronCurtainError):
    """A file was written by a newer IronCurtain."""

    code = "IC1004"
    exit = Exit.USAGE


class ServerConfigError(IronCurtainError):
    """`mcp-servers.json` names something that cannot work."""

    code = "IC1005"
    exit = Exit.USAGE


class RefusedRootError(IronCurtainError):
    """A home or sandbox directory is one that can never be safe."""

    code = "IC1006"
    exit = Exit.USAGE


class ConstitutionError(IronCurtainError):
    """Two clauses of a constitution say the opposite of each other in the same words."""

    code = "IC1007"
    exit = Exit.USAGE


class ApprovalsError(IronCurtainError):
    """The approvals directory or its key is missing, not private, or within reach of agent or servers."""

    code = "IC1008"
    exit = Exit.USAGE


class ExtraMissingError(IronCurtainError):
    """A command needs packages that come with an extra, and the extra is not installed."""

    code = "IC1009"
    exit = Exit.USAGE


class ClauseIdError(IronCurtainError):
    """The id that is written behind a clause is none, is written twice, or is that of another clause."""

    code = "IC1010"
    exit = Exit.USAGE


class AnnotationError(IronCurtainError):
    """An annotation contradicts its tool's schema or the role registry."""

    code = "IC1101"
    exit = Exit.USAGE


class UnconfirmedArgumentError(IronCurtainError):
    """An argument looks like a path, a URL or an address, but carries no such role."""

    code = "IC1102"
    exit = Exit.PERSON


class UnconfirmedAnnotationError(IronCurtainError):
    """A new annotation of a tool is weaker than the published one."""

    code = "IC1103"
    exit = Exit.PERSON


class ProposedRoleError(IronCurtainError):
    """A model proposes a role for a kind of identifier, and nobody has declared or declined it."""

    code = "IC1104"
    exit = Exit.PERSON


class RuleError(IronCurtainError):
    """A rule is not valid: no condition, an unknown name, a pattern not in canonical form, …."""

    code = "IC1201"
    exit = Exit.USAGE


class PatternError(IronCurtainError):
    """A pattern (directory, domain, identifier) is not in canonical form or covers too much."""

    code = "IC1202"
    exit = Exit.USAGE


class ListError(IronCurtainError):
    """A named list is undefined, unresolved, of the wrong type, or holds a value that is none."""

    code = "IC1203"
    exit = Exit.USAGE


class CustomModuleError(IronCurtainError):
    """A project's own Rego module does not keep the rules for such modules."""

    code = "IC1204"
    exit = Exit.USAGE


class UnconfirmedRuleError(IronCurtainError):
    """A rule that a model wrote allows something without any limit."""

    code = "IC1205"
    exit = Exit.PERSON


class ScenarioError(IronCurtainError):
    """A handwritten scenario can never come true, or contradicts another one."""

    code = "IC1301"
    exit = Exit.USAGE


class GuaranteeError(IronCurtainError):
    """A guarantee names what does not exist, or demands what contradicts itself."""

    code = "IC1401"
    exit = Exit.USAGE


class EvidenceError(IronCurtainError):
    """A policy cannot be examined: its bundle holds no conditions, or too many combinations of them."""

    code = "IC1402"
    exit = Exit.USAGE


class WaiverError(IronCurtainError):
    """A waiver has expired, or there is no such finding any more."""

    code = "IC1403"
    exit = Exit.USAGE


class GatewayError(IronCurtainError):
    """A tool's declaration, an output policy, or what a gateway is started with is wrong."""

    code = "IC1501"
    exit = Exit.USAGE


# -- the answer is no: exit 1 -------------------------------------------------------------------


class VerificationError(IronCurtainError):
    """The bundle does not do what its scenarios, tests or checks demand."""

    code = "IC2001"
    exit = Exit.NO


class RegoRejectedError(IronCurtainError):
    """OPA rejects a Rego module of the bundle."""

    code = "IC2002"
    exit = Exit.NO


# -- could not answer: exit 3 -------------------------------------------------------------------


class EngineMissingError(IronCurtainError):
    """No usable OPA was found."""

    code = "IC3001"
    exit = Exit.NO_ANSWER


class EngineVersionError(IronCurtainError):
    """An OPA was found, but it is older than the pinned version or not what it says it is."""

    code = "IC3002"
    exit = Exit.NO_ANSWER


class EngineFailedError(IronCurtainError):
    """OPA did not start, died, or gave no answer."""

    code = "IC3003"
    exit = Exit.NO_ANSWER


class BundleIntegrityError(IronCurtainError):
    """A bundle is corrupt, truncated, or not the one it says it is."""

    code = "IC3101"
    exit = Exit.NO_ANSWER


class BundleRelationError(IronCurtainError):
    """What was verified about the bundle's directories does not hold on this machine."""

    code = "IC3102"
    exit = Exit.NO_ANSWER


class BundleSignatureError(IronCurtainError):
    """A bundle is unsigned, not signed by the key, or not as it was signed."""

    code = "IC3103"
    exit = Exit.NO_ANSWER


class ServerFailedError(IronCurtainError):
    """An MCP server did not start, died, or answered something that is no tool list."""

    code = "IC3201"
    exit = Exit.NO_ANSWER


class SandboxMissingError(IronCurtainError):
    """Servers cannot be contained on this machine, and the configuration demands that they are."""

    code = "IC3202"
    exit = Exit.NO_ANSWER


class FetchError(IronCurtainError):
    """A server that fetches itself was not fetched, cannot be, or is not what was fetched."""

    code = "IC3203"
    exit = Exit.NO_ANSWER


class ModelFailedError(IronCurtainError):
    """The language model could not be reached, refused, or gave no valid answer."""

    code = "IC3301"
    exit = Exit.NO_ANSWER


class AnswerMissingError(IronCurtainError):
    """A locked compile needs an answer that `answers/` does not hold."""

    code = "IC3302"
    exit = Exit.NO_ANSWER


class BudgetReachedError(IronCurtainError):
    """The next call of a model could cost more than the budget has left."""

    code = "IC3303"
    exit = Exit.NO_ANSWER


class PublishError(IronCurtainError):
    """The result could not be written; what was there before is untouched."""

    code = "IC3401"
    exit = Exit.NO_ANSWER


class BusyError(IronCurtainError):
    """Another process is at work on the same directory or the same client's configuration."""

    code = "IC3402"
    exit = Exit.NO_ANSWER


class SystemFailedError(IronCurtainError):
    """The operating system refused something: no space, no permission, no such device."""

    code = "IC3403"
    exit = Exit.NO_ANSWER


class AuditError(IronCurtainError):
    """An audit log cannot be written, is being written by another process, or is not what was written.

    Attributes:
        busy: Whether another process writes it.
    """

    code = "IC3404"
    exit = Exit.NO_ANSWER

    def __init__(
        self, what: str, *, where: Place | str | None = None, hint: str = "", busy: bool = False
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.busy = busy


class RegistryError(IronCurtainError):
    """An OCI registry was not reached, refused, or does not hold the bundle that it names."""

    code = "IC3405"
    exit = Exit.NO_ANSWER


# -- a person must decide: exit 4 ---------------------------------------------------------------


class OpenQuestionError(IronCurtainError):
    """A question waits for an answer that a person gives or fetches."""

    code = "IC4001"
    exit = Exit.PERSON


class BadAnswerError(IronCurtainError):
    """An answer to a question is there, but not valid; it has to be given again."""

    code = "IC4002"
    exit = Exit.PERSON
