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
    │   └── GatewayError                        IC15nn  tools of one's own
    ├── RejectedError        1: the answer is no
    │   └── VerificationError, RegoRejectedError        IC20nn
    ├── NoAnswerError        3: no answer could be given
    │   ├── EngineMissingError … EngineFailedError      IC30nn  OPA
    │   ├── BundleIntegrityError … BundleSignatureError IC31nn  bundles
    │   ├── ServerFailedError … FetchError              IC32nn  MCP servers and their sandbox
    │   ├── ModelFailedError … BudgetReachedError       IC33nn  language models
    │   └── PublishError … RegistryError                IC34nn  files, locks, logs, registries
    └── NeedsApprovalError   4: a person must decide
        ├── OpenQuestionError, BadAnswerError           IC40nn
        └── Unconfirmed…Error, ProposedRoleError        IC11nn, IC12nn
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
    NEEDS_APPROVAL = 4
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


class UsageError(InputError):
    """An option or argument of a command is wrong."""

    code = "IC1001"


class FileError(InputError):
    """A file that a person wrote is missing, unreadable, empty, too large, no UTF-8, or open to others."""

    code = "IC1002"


class FormatError(InputError):
    """A file is not of the shape that its kind demands (syntax, unknown key, wrong type)."""

    code = "IC1003"


class NewerFormatError(InputError):
    """A file was written by a newer IronCurtain."""

    code = "IC1004"


class ServerConfigError(InputError):
    """`mcp-servers.json` names something that cannot work."""

    code = "IC1005"


class RefusedRootError(InputError):
    """A home or sandbox directory is one that can never be safe."""

    code = "IC1006"


class ConstitutionError(InputError):
    """Two clauses of a constitution say the opposite of each other in the same words."""

    code = "IC1007"


class ApprovalsError(InputError):
    """The approvals directory or its key is missing, not private, or within reach of agent or servers."""

    code = "IC1008"


class ExtraMissingError(InputError):
    """A command needs packages that come with an extra, and the extra is not installed."""

    code = "IC1009"


class ClauseIdError(InputError):
    """The id that is written behind a clause is none, is written twice, or is that of another clause."""

    code = "IC1010"


class AnnotationError(InputError):
    """An annotation contradicts its tool's schema or the role registry."""

    code = "IC1101"


class UnconfirmedArgumentError(NeedsApprovalError):
    """An argument looks like a path, a URL or an address, but carries no such role."""

    code = "IC1102"


class UnconfirmedAnnotationError(NeedsApprovalError):
    """A new annotation of a tool is weaker than the published one."""

    code = "IC1103"


class ProposedRoleError(NeedsApprovalError):
    """A model proposes a role for a kind of identifier, and nobody has declared or declined it."""

    code = "IC1104"


class RuleError(InputError):
    """A rule is not valid: no condition, an unknown name, a pattern not in canonical form, …."""

    code = "IC1201"


class PatternError(InputError):
    """A pattern (directory, domain, identifier) is not in canonical form or covers too much."""

    code = "IC1202"


class ListError(InputError):
    """A named list is undefined, unresolved, of the wrong type, or holds a value that is none."""

    code = "IC1203"


class CustomModuleError(InputError):
    """A project's own Rego module does not keep the rules for such modules."""

    code = "IC1204"


class UnconfirmedRuleError(NeedsApprovalError):
    """A rule that a model wrote allows something without any limit."""

    code = "IC1205"


class ScenarioError(InputError):
    """A handwritten scenario can never come true, or contradicts another one."""

    code = "IC1301"


class GuaranteeError(InputError):
    """A guarantee names what does not exist, or demands what contradicts itself."""

    code = "IC1401"


class EvidenceError(InputError):
    """A policy cannot be examined: its bundle holds no conditions, or too many combinations of them."""

    code = "IC1402"


class WaiverError(InputError):
    """A waiver has expired, or there is no such finding any more."""

    code = "IC1403"


class GatewayError(InputError):
    """A tool's declaration, an output policy, or what a gateway is started with is wrong."""

    code = "IC1501"


# -- the answer is no: exit 1 -------------------------------------------------------------------


class VerificationError(RejectedError):
    """The bundle does not do what its scenarios, tests or checks demand."""

    code = "IC2001"


class RegoRejectedError(RejectedError):
    """OPA rejects a Rego module of the bundle."""

    code = "IC2002"


# -- could not answer: exit 3 -------------------------------------------------------------------


class EngineMissingError(NoAnswerError):
    """No usable OPA was found."""

    code = "IC3001"


class EngineVersionError(NoAnswerError):
    """An OPA was found, but it is older than the pinned version or not what it says it is."""

    code = "IC3002"


class EngineFailedError(NoAnswerError):
    """OPA did not start, died, or gave no answer."""

    code = "IC3003"


class BundleIntegrityError(NoAnswerError):
    """A bundle is corrupt, truncated, or not the one it says it is."""

    code = "IC3101"


class BundleRelationError(NoAnswerError):
    """What was verified about the bundle's directories does not hold on this machine."""

    code = "IC3102"


class BundleSignatureError(NoAnswerError):
    """A bundle is unsigned, not signed by the key, or not as it was signed."""

    code = "IC3103"


class ServerFailedError(NoAnswerError):
    """An MCP server did not start, died, or answered something that is no tool list."""

    code = "IC3201"


class SandboxMissingError(NoAnswerError):
    """Servers cannot be contained on this machine, and the configuration demands that they are."""

    code = "IC3202"


class FetchError(NoAnswerError):
    """A server that fetches itself was not fetched, cannot be, or is not what was fetched."""

    code = "IC3203"


class ModelFailedError(NoAnswerError):
    """The language model could not be reached, refused, or gave no valid answer."""

    code = "IC3301"


class AnswerMissingError(NoAnswerError):
    """A locked compile needs an answer that `answers/` does not hold."""

    code = "IC3302"


class BudgetReachedError(NoAnswerError):
    """The next call of a model could cost more than the budget has left."""

    code = "IC3303"


class PublishError(NoAnswerError):
    """The result could not be written; what was there before is untouched."""

    code = "IC3401"


class BusyError(NoAnswerError):
    """Another process is at work on the same directory or the same client's configuration."""

    code = "IC3402"


class SystemFailedError(NoAnswerError):
    """The operating system refused something: no space, no permission, no such device."""

    code = "IC3403"


class AuditError(NoAnswerError):
    """An audit log cannot be written, is being written by another process, or is not what was written.

    Attributes:
        busy: Whether another process writes it.
    """

    code = "IC3404"

    def __init__(
        self, what: str, *, where: Place | str | None = None, hint: str = "", busy: bool = False
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.busy = busy


class RegistryError(NoAnswerError):
    """An OCI registry was not reached, refused, or does not hold the bundle that it names."""

    code = "IC3405"


# -- a person must decide: exit 4 ---------------------------------------------------------------


class OpenQuestionError(NeedsApprovalError):
    """A question waits for an answer that a person gives or fetches."""

    code = "IC4001"


class BadAnswerError(NeedsApprovalError):
    """An answer to a question is there, but not valid; it has to be given again."""

    code = "IC4002"
