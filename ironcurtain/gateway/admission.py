"""What a call of a gateway's tool meets before the policy: its caller, its tool, permissions, validation.

The steps are those of a call's way: authenticate, look up, base permissions, validate the input, elevated
permissions on the validated input. What is refused is told alike from outside, unless the input is at fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import anyio
from pydantic import BaseModel, ValidationError

from ironcurtain.gateway.definition import Classification, Tool
from ironcurtain.gateway.gateway import Gateway
from ironcurtain.gateway.principal import Principal
from ironcurtain.gateway.workers import Workers
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import printable

NOT_PERMITTED = "operation not permitted"
_MOST_ERRORS = 10
_CONDITION_SECONDS = 5.0
_UNCHECKED = "The arguments could not be checked."
_KINDS: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    dict: "an object",
    list: "an array",
    type(None): "null",
}


class Stage(StrEnum):
    """Where a call ended; for the audit log only."""

    AUTH = "AUTH"
    REGISTRY = "REGISTRY"
    PERMISSION = "PERMISSION"
    VALIDATION = "VALIDATION"
    POLICY = "POLICY"
    EXECUTION = "EXECUTION"
    OUTPUT = "OUTPUT"

    @property
    def rule(self) -> ReservedRule:
        """The rule that a refusal at this stage is recorded under; only the stages of `RULES` have one."""
        return ReservedRule[f"GATEWAY_{self.name}"]


RULES: dict[str, Stage] = {
    stage.rule: stage for stage in (Stage.AUTH, Stage.REGISTRY, Stage.PERMISSION, Stage.VALIDATION)
}
"""By the rule of a refusal before the policy, its stage."""


class NotAdmitted(Struct):
    """A call that does not come to the policy.

    Attributes:
        reason: Why, for the audit log: no value of the call is in it.
        told: What the agent is told.
    """

    stage: Stage
    reason: str
    told: str = NOT_PERMITTED


class Admission:
    """The gateways of one server, and what their tools ask of a caller.

    Args:
        gateways: By the server's name.
        condition_seconds: How long a tool's own condition may take; one that takes longer needs the most.
    """

    def __init__(
        self, gateways: Mapping[str, Gateway], condition_seconds: float = _CONDITION_SECONDS
    ) -> None:
        self._gateways, self._condition_seconds = dict(gateways), condition_seconds
        self._conditions = Workers()

    def classification(self, server: str, tool: str) -> Classification | None:
        """Return what kind of tool it is; None where it is none of a gateway."""
        definition = self._tool(server, tool)
        return definition.classification if definition is not None else None

    def is_ours(self, server: str) -> bool:
        """Tell whether calls of a server are a gateway's; where there is one, those of no server are, too."""
        return server in self._gateways or (not server and bool(self._gateways))

    def offers(self, server: str, tool: str, principal: Principal | None) -> bool:
        """Tell whether a tool is listed to a caller: others could be called by it never."""
        if server not in self._gateways:
            return True
        definition = self._tool(server, tool)
        return definition is not None and self._base(definition, principal) is None

    async def check(
        self, server: str, tool: str, arguments: JsonSource | bytes, principal: Principal | None
    ) -> NotAdmitted | None:
        """Return why a call does not come to the policy; None where it does."""
        if not self.is_ours(server):
            return None
        definition = self._tool(server, tool)
        if principal is None:
            return NotAdmitted(Stage.AUTH, "It is not known who calls.")
        if definition is None:
            return NotAdmitted(Stage.REGISTRY, "There is no such tool.")
        refused = self._base(definition, principal)
        if refused is not None or isinstance(arguments, bytes):
            return refused
        given = _validated(definition, arguments)
        return given if isinstance(given, NotAdmitted) else await self._elevated(definition, given, principal)

    async def check_again(
        self, server: str, tool: str, arguments: Mapping[str, JsonSource], principal: Principal | None
    ) -> NotAdmitted | None:
        """Return why a call is not carried out whose canonical arguments need more than those that came.

        A path can be spelled so that only its canonical form is one that needs more.
        """
        definition = self._tool(server, tool)
        if definition is None or definition.elevated_if is None:
            return None
        return await self.check(server, tool, {**arguments}, principal)

    def _tool(self, server: str, tool: str) -> Tool | None:
        gateway = self._gateways.get(server)
        return gateway.tools.get(tool) if gateway is not None else None

    def _base(self, tool: Tool, principal: Principal | None) -> NotAdmitted | None:
        if principal is None:
            return NotAdmitted(Stage.AUTH, "It is not known who calls.")
        if not principal.has(tool.permissions):
            missing = sorted(set(tool.permissions) - principal.permissions)
            return NotAdmitted(Stage.PERMISSION, f"The caller lacks {', '.join(missing)}.")
        if tool.classification == "destructive" and not principal.allow_destructive:
            return NotAdmitted(Stage.PERMISSION, "Destructive tools are not allowed here.")
        return None

    async def _elevated(self, tool: Tool, given: BaseModel, principal: Principal) -> NotAdmitted | None:
        condition = tool.elevated_if
        if condition is None or principal.has(tool.elevated_permissions):
            return None
        missing = sorted(set(tool.elevated_permissions) - principal.permissions)
        needs = f"For this input the caller lacks {', '.join(missing)}."
        try:
            # A condition is a team's own code: it must not keep other calls waiting, nor end the server.
            with anyio.fail_after(self._condition_seconds):
                if not await self._conditions.in_thread(condition, (given,)):
                    return None
        except Exception as error:  # noqa: BLE001 - what cannot be told needs the most
            needs = f"Whether it needs more is not known ({type(error).__name__})."
        return NotAdmitted(Stage.PERMISSION, needs)


def _validated(tool: Tool, arguments: JsonSource) -> BaseModel | NotAdmitted:
    try:
        return tool.shape.given(arguments if arguments is not None else {})
    except ValidationError as error:
        return NotAdmitted(Stage.VALIDATION, _counted(error), _detailed(error))
    except BaseException as error:  # noqa: BLE001 - a team's validator may raise anything, SystemExit too
        why = f"Whether the arguments are valid is not known ({type(error).__name__})."
        return NotAdmitted(Stage.VALIDATION, why, _UNCHECKED)


def _counted(error: ValidationError) -> str:
    count = error.error_count()
    return f"{count} argument{'s are' if count > 1 else ' is'} not as the tool declares."


def _detailed(error: ValidationError) -> str:
    """Return what is wrong with the input, for whoever wrote it: by field what is expected and was given."""
    lines = []
    for each in error.errors(include_url=False, include_context=False)[:_MOST_ERRORS]:
        place = ".".join(map(str, each["loc"])) or "the arguments"
        if each["type"] == "missing":
            lines.append(f"{place}: required, not given")
            continue
        kind = _KINDS.get(type(each["input"]), "another value")
        lines.append(f"{place}: {each['msg']}; received {kind}")
    return printable("The arguments are not valid. " + "; ".join(lines))
