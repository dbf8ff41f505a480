"""The names that a decision can have as its rule beside those of the policy (specification 2.8).

Every reserved name is a member of `ReservedRule` and carries what the rest of the product needs to know of
it: the step that decides by it, its kind, the verdict, what would change it, and what an agent is told. Code
compares with members and asks for kinds; no other module spells a name or tells names by how they begin.

    rule = reserved(decision.rule)
    if rule is not None and rule.gives_no_answer: ...

A member is a `str` equal to its name, so a decision's or a record's `rule` compares with it. What is stored
and serialized is the name itself (`member.value`).
"""

from __future__ import annotations

from enum import StrEnum, auto
from functools import partial
from typing import Self

from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct

NO_ANSWER = "No decision could be made, so the call was refused; the call itself is not at fault."
"""What an agent is told where the engine or we ourselves failed."""


class RuleKind(StrEnum):
    """Who decides by a rule."""

    STRUCTURAL = auto()
    DEFAULT = auto()
    ENGINE = auto()
    INTERNAL = auto()
    PROXY = auto()
    SANDBOX = auto()
    GATEWAY = auto()


class RuleFacts(Struct):
    """What is known of a reserved rule.

    Attributes:
        kind: Who decides by it.
        verdict: The verdict that it gives.
        steps: The steps that can decide by it (specification 2.1 to 2.6); empty for any.
        change: What would change it, as the specification's table says it.
        remedy: The same for the person who asked, as a sentence; empty where no call is refused by it, or
            where those who answer for it word it themselves.
        told: What the agent is told, as the specification's table says it.
        public: The agent's text, where it does not depend on the call.
        shows_reason: Whether the agent is told the reason: it speaks of the call's own form only, which the
            agent chose itself.
    """

    kind: RuleKind
    verdict: Verdict = Verdict.DENY
    steps: tuple[int, ...] = ()
    change: str = ""
    remedy: str = ""
    told: str = ""
    public: str = ""
    shows_reason: bool = False


_ENGINE = RuleFacts(
    RuleKind.ENGINE,
    steps=(6,),
    change="a working engine",
    remedy="Nothing in the call: the engine has to answer.",
    told="that no decision could be made, and that the call is not at fault",
    public=NO_ANSWER,
)
_structural = partial(RuleFacts, RuleKind.STRUCTURAL)
_PROXY = RuleFacts(RuleKind.PROXY)
_GATEWAY = RuleFacts(RuleKind.GATEWAY)


class ReservedRule(StrEnum):
    """The reserved rules, in the order of the specification's table."""

    facts: RuleFacts

    def __new__(cls, name: str, facts: RuleFacts) -> Self:
        """Make a member that is its name and carries its facts."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.facts = facts
        return member

    MALFORMED_CALL = (
        "structural-malformed-call",
        _structural(
            steps=(1,),
            change="strict JSON",
            remedy="Send strict JSON.",
            told="the reason",
            shows_reason=True,
        ),
    )
    UNKNOWN_TOOL = (
        "structural-unknown-tool",
        _structural(
            steps=(2,),
            change="an annotation",
            remedy="Annotate the tool, or call one that is annotated.",
            told="that there is no such tool",
            public="There is no such tool.",
        ),
    )
    TOOL_DRIFT = (
        "structural-tool-drift",
        _structural(
            steps=(2,),
            change="a new annotation",
            remedy="Annotate the changed tool again.",
            told="that the tool is closed until a person has looked at it",
            public=(
                "The tool is not the one that was examined; it stays closed until a person has looked at it."
            ),
        ),
    )
    INVALID_ARGUMENTS = (
        "structural-invalid-arguments",
        _structural(
            steps=(3,),
            change="other arguments",
            remedy="Correct the arguments.",
            told="the reason, with the valid names",
            shows_reason=True,
        ),
    )
    UNREPRESENTABLE_ARGUMENT = (
        "structural-unrepresentable-argument",
        _structural(
            steps=(4, 5, 6),
            change="a plainer spelling",
            remedy="Write the argument plainly.",
            told="the reason, without what git or the system said",
        ),
    )
    PROTECTED_PATH = (
        "structural-protected-path",
        _structural(
            steps=(5,),
            change="nothing",
            remedy="Nothing: no policy can permit it.",
            told="the same as for `default-deny`",
        ),
    )
    DOMAIN_ESCALATE = (
        "structural-domain-escalate",
        _structural(
            verdict=Verdict.ESCALATE,
            steps=(5,),
            change="approval; the domain list",
            remedy="A person's approval, or the address on the server's domain list.",
            told="that a person must approve",
        ),
    )
    UNRESOLVED_REMOTE = (
        "structural-unresolved-remote",
        _structural(
            verdict=Verdict.ESCALATE,
            steps=(5,),
            change="approval; a remote that git resolves",
            remedy="A person's approval, or a remote given as URL.",
            told="that a person must approve",
        ),
    )
    FACT_UNAVAILABLE = (
        "structural-fact-unavailable",
        _structural(
            steps=(6,),
            change="the record or the store that the reason names",
            remedy="What the reason names must be had: a record, a total of the store, an amount.",
            told="that the call could not be checked",
            public="The call could not be checked, so it was refused.",
        ),
    )
    SANDBOX_ALLOW = (
        "structural-sandbox-allow",
        _structural(verdict=Verdict.ALLOW, steps=(6,), told="that the call is permitted"),
    )
    DEFAULT_DENY = (
        "default-deny",
        RuleFacts(
            RuleKind.DEFAULT,
            steps=(6,),
            change="a rule for the denied resources",
            remedy="A rule that covers the denied subjects.",
            told="that what these arguments name is not permitted",
        ),
    )
    ENGINE_UNDEFINED = "engine-undefined", _ENGINE
    ENGINE_STATUS = "engine-status", _ENGINE
    ENGINE_MALFORMED = "engine-malformed", _ENGINE
    ENGINE_REVISION = "engine-revision", _ENGINE
    ENGINE_TIMEOUT = "engine-timeout", _ENGINE
    ENGINE_UNREACHABLE = "engine-unreachable", _ENGINE
    ENGINE_DEAD = "engine-dead", _ENGINE
    ENGINE_NO_NODE = "engine-no-node", _ENGINE
    INTERNAL_ERROR = (
        "internal-error",
        RuleFacts(
            RuleKind.INTERNAL,
            change="a bug report",
            remedy="Nothing in the call: this is a bug in IronCurtain.",
            told="as for `engine-…`",
            public=NO_ANSWER,
        ),
    )
    REPEATED_CALL = "proxy-circuit-breaker", _PROXY
    UNSETTLED_PATHS = "proxy-unsettled-paths", _PROXY
    SANDBOX_OUT_OF_REACH = "sandbox-out-of-reach", RuleFacts(RuleKind.SANDBOX)
    GATEWAY_AUTH = "gateway-auth", _GATEWAY
    GATEWAY_REGISTRY = "gateway-registry", _GATEWAY
    GATEWAY_PERMISSION = "gateway-permission", _GATEWAY
    GATEWAY_VALIDATION = "gateway-validation", _GATEWAY

    @property
    def gives_no_answer(self) -> bool:
        """Whether the deny stands for a decision that could not be made."""
        return self.facts.kind in {RuleKind.ENGINE, RuleKind.INTERNAL}


_CUSTOM = "custom-"
_BY_NAME = {rule.value: rule for rule in ReservedRule}


def reserved(name: str) -> ReservedRule | None:
    """Return the reserved rule of this name; None for one of the policy or of a custom module."""
    return _BY_NAME.get(name)


def kind_of(name: str) -> RuleKind | None:
    """Return the kind of a reserved rule; None for a rule of the policy or of a custom module."""
    rule = reserved(name)
    return rule.facts.kind if rule is not None else None


_BESIDE_THE_POLICY = frozenset({RuleKind.ENGINE, RuleKind.PROXY, RuleKind.SANDBOX, RuleKind.INTERNAL})


def is_of_policy(name: str) -> bool:
    """Tell whether policy and structural checks decide by a rule: no failure, and not the proxy itself."""
    return kind_of(name) not in _BESIDE_THE_POLICY


_OF_THE_ENGINE = frozenset(
    {
        ReservedRule.SANDBOX_ALLOW,
        ReservedRule.DEFAULT_DENY,
        ReservedRule.DOMAIN_ESCALATE,
        ReservedRule.UNRESOLVED_REMOTE,
    }
)


def is_of_engine(name: str) -> bool:
    """Tell whether the engine's answer decided, alone or raised to an approval by a structural check."""
    return reserved(name) in {None, *_OF_THE_ENGINE}


def is_custom(name: str) -> bool:
    """Tell whether a decision's rule is of a custom module, whose names `decision.rego` forms."""
    return name.startswith(_CUSTOM)
