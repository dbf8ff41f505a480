"""The one exception tree: every failure a person can meet, with a stable code and an exit status.

Library code raises these and never prints or exits; `ironcurtain.cli` alone turns them into text and
a process status. Each leaf is documented for users by the page ``docs/errors/<code>.md``, which
`ironcurtain error <code>` prints. `IronCurtainError` catches all of them, a family those of one status::

    IronCurtainError
    ├── SeveralErrors        errors of one stage, reported together
    ├── InputError           2: what a person wrote or asked for is wrong
    │   ├── UsageError … ClauseIdError          IC10nn  options, files, servers, constitution
    │   ├── AnnotationError                     IC11nn  tools and the roles of their arguments
    │   ├── RuleError … CustomModuleError       IC12nn  rules, patterns, lists, own Rego modules
    │   ├── ScenarioError                       IC13nn  scenarios
    │   ├── GuaranteeError … WaiverError        IC14nn  what evidence is asked for
    │   ├── GatewayError                        IC15nn  tools of one's own
    │   └── SessionError                        IC16nn  agent sessions
    ├── RejectedError        1: the answer is no
    │   └── VerificationError … ReceiptError            IC20nn
    ├── NoAnswerError        3: no answer could be given
    │   ├── EngineMissingError … EngineFailedError      IC30nn  OPA
    │   ├── BundleIntegrityError … BundleSignatureError IC31nn  bundles
    │   ├── ServerFailedError … UnpermittedError        IC32nn  MCP servers and their sandbox
    │   ├── ModelFailedError … BudgetReachedError       IC33nn  language models
    │   └── PublishError … RegistryError                IC34nn  files, locks, logs, registries
    └── NeedsApprovalError   4: a person must decide
        ├── OpenQuestionError, BadAnswerError           IC40nn
        └── Unconfirmed…Error, ProposedRoleError        IC11nn, IC12nn
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import ClassVar, NamedTuple


class Exit(IntEnum):
    """The exit codes of every command. Only `YES` ever means "go ahead"."""

    YES = 0
    NO = 1
    USAGE = 2
    NO_ANSWER = 3
    NEEDS_APPROVAL = 4
    BUG = 70
    INTERRUPTED = 130


class Place(NamedTuple):
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

    def __init_subclass__(cls, *, code: str = "") -> None:
        """Give a leaf of the tree its code; a family has that of its base."""
        super().__init_subclass__()
        if code:
            cls.code = code

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


class SeveralErrors(IronCurtainError, code="IC0002"):  # noqa: N818 - it is several errors
    """Several mistakes found in one run, reported together.

    Its `exit` is that of its first error: errors of one stage share one exit code.
    """

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


class InputError(IronCurtainError):
    """What a person wrote or asked for is wrong: an option, a file, a rule."""

    exit = Exit.USAGE


class RejectedError(IronCurtainError):
    """The question was answered, and the answer is no."""

    exit = Exit.NO


class NoAnswerError(IronCurtainError):
    """The question could not be answered: engine, model, server, input or output failed."""

    exit = Exit.NO_ANSWER


class NeedsApprovalError(IronCurtainError):
    """A person must decide before it can go on."""

    exit = Exit.NEEDS_APPROVAL


# -- configuration and input files: exit 2 ------------------------------------------------------


class UsageError(InputError, code="IC1001"):
    """An option or argument of a command is wrong."""


class FileError(InputError, code="IC1002"):
    """A file that a person wrote is missing, unreadable, empty, too large, no UTF-8, or open to others."""


class FormatError(InputError, code="IC1003"):
    """A file is not of the shape that its kind demands (syntax, unknown key, wrong type)."""


class NewerFormatError(InputError, code="IC1004"):
    """A file was written by a newer IronCurtain."""


class ServerConfigError(InputError, code="IC1005"):
    """`mcp-servers.json` names something that cannot work."""


class RefusedRootError(InputError, code="IC1006"):
    """A home or sandbox directory is one that can never be safe."""


class ConstitutionError(InputError, code="IC1007"):
    """Two clauses of a constitution say the opposite of each other in the same words."""


class ApprovalsError(InputError, code="IC1008"):
    """The approvals directory or its key is missing, not private, or within reach of agent or servers."""


class ExtraMissingError(InputError, code="IC1009"):
    """A command needs packages that come with an extra, and the extra is not installed."""


class ClauseIdError(InputError, code="IC1010"):
    """The id that is written behind a clause is none, is written twice, or is that of another clause."""


class AnnotationError(InputError, code="IC1101"):
    """An annotation contradicts its tool's schema or the role registry."""


class UnconfirmedArgumentError(NeedsApprovalError, code="IC1102"):
    """An argument looks like a path, a URL or an address, but carries no such role."""


class UnconfirmedAnnotationError(NeedsApprovalError, code="IC1103"):
    """A new annotation of a tool is weaker than the published one."""


class ProposedRoleError(NeedsApprovalError, code="IC1104"):
    """A model proposes a role for a kind of identifier, and nobody has declared or declined it."""


class RuleError(InputError, code="IC1201"):
    """A rule is not valid: no condition, an unknown name, a pattern not in canonical form, …."""


class PatternError(InputError, code="IC1202"):
    """A pattern (directory, domain, identifier) is not in canonical form or covers too much."""


class ListError(InputError, code="IC1203"):
    """A named list is undefined, unresolved, of the wrong type, or holds a value that is none."""


class CustomModuleError(InputError, code="IC1204"):
    """A project's own Rego module does not keep the rules for such modules."""


class UnconfirmedRuleError(NeedsApprovalError, code="IC1205"):
    """A rule that a model wrote allows something without any limit."""


class ScenarioError(InputError, code="IC1301"):
    """A handwritten scenario can never come true, or contradicts another one."""


class GuaranteeError(InputError, code="IC1401"):
    """A guarantee names what does not exist, or demands what contradicts itself."""


class EvidenceError(InputError, code="IC1402"):
    """A policy cannot be examined: its bundle holds no conditions, or too many combinations of them."""


class WaiverError(InputError, code="IC1403"):
    """A waiver has expired, or there is no such finding any more."""


class GatewayError(InputError, code="IC1501"):
    """A tool's declaration, an output policy, or what a gateway is started with is wrong."""


class SessionError(InputError):
    """A session cannot do what was asked of it."""

    code = "IC1601"


# -- the answer is no: exit 1 -------------------------------------------------------------------


class VerificationError(RejectedError, code="IC2001"):
    """The bundle does not do what its scenarios, tests or checks demand."""


class RegoRejectedError(RejectedError, code="IC2002"):
    """OPA rejects a Rego module of the bundle."""


class ReceiptError(RejectedError, code="IC2003"):
    """A record lacks what others would need to decide it again, or is not decided as it says."""


# -- could not answer: exit 3 -------------------------------------------------------------------


class EngineMissingError(NoAnswerError, code="IC3001"):
    """No usable OPA was found."""


class EngineVersionError(NoAnswerError, code="IC3002"):
    """An OPA was found, but it is older than the pinned version or not what it says it is."""


class EngineFailedError(NoAnswerError, code="IC3003"):
    """OPA did not start, died, or gave no answer."""


class BundleIntegrityError(NoAnswerError, code="IC3101"):
    """A bundle is corrupt, truncated, or not the one it says it is."""


class BundleRelationError(NoAnswerError, code="IC3102"):
    """What was verified about the bundle's directories does not hold on this machine."""


class BundleSignatureError(NoAnswerError, code="IC3103"):
    """A bundle is unsigned, not signed by the key, or not as it was signed."""


class ServerFailedError(NoAnswerError, code="IC3201"):
    """An MCP server did not start, died, or answered something that is no tool list."""


class ContainedServerError(ServerFailedError):
    """An MCP server ended at its start, and what its sandbox keeps from it is the likely cause."""


class SandboxMissingError(NoAnswerError, code="IC3202"):
    """Servers cannot be contained on this machine, and the configuration demands that they are."""


class FetchError(NoAnswerError, code="IC3203"):
    """A server that fetches itself was not fetched, cannot be, or is not what was fetched."""


class UnpermittedError(NoAnswerError, code="IC3204"):
    """A project wants a server let out, or its module imported, and no person permitted that."""


class ModelFailedError(NoAnswerError, code="IC3301"):
    """The language model could not be reached, refused, or gave no valid answer."""


class AnswerMissingError(NoAnswerError, code="IC3302"):
    """A locked compile needs an answer that `answers/` does not hold."""


class BudgetReachedError(NoAnswerError, code="IC3303"):
    """The next call of a model could cost more than the budget has left."""


class PublishError(NoAnswerError, code="IC3401"):
    """The result could not be written; what was there before is untouched."""


class BusyError(NoAnswerError, code="IC3402"):
    """Another process is at work on the same directory or the same client's configuration."""


class SystemFailedError(NoAnswerError, code="IC3403"):
    """The operating system refused something: no space, no permission, no such device."""


class AuditError(NoAnswerError, code="IC3404"):
    """An audit log cannot be written, is being written by another process, or is not what was written.

    Attributes:
        busy: Whether another process writes it.
    """

    def __init__(
        self, what: str, *, where: Place | str | None = None, hint: str = "", busy: bool = False
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.busy = busy


class RegistryError(NoAnswerError, code="IC3405"):
    """An OCI registry was not reached, refused, or does not hold the bundle that it names."""


# -- a person must decide: exit 4 ---------------------------------------------------------------


class OpenQuestionError(NeedsApprovalError, code="IC4001"):
    """A question waits for an answer that a person gives or fetches."""


class BadAnswerError(NeedsApprovalError, code="IC4002"):
    """An answer to a question is there, but not valid; it has to be given again."""
