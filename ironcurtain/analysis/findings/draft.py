"""A finding before the call that shows it is decided."""

from __future__ import annotations

from dataclasses import dataclass

from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.findings.report import Kind, Severity
from ironcurtain.bundle.content import RuleText
from ironcurtain.system.frozen import JsonValue


@dataclass(frozen=True)
class WitnessQuery:
    """A whole call that shows a finding."""

    server: str
    tool: str
    call: FoundCall


@dataclass(frozen=True)
class FindingDraft:
    """A finding before its witness is decided.

    Attributes:
        about: What it is about, by content: its id is made of this.
        sampled: Whether it speaks of tools of which not every kind of call was examined.
        universal: Whether it speaks of all calls, so that its witness is an example and no proof.
        rule: The rule that it is about, if it says that the rule decides nothing.
    """

    kind: Kind
    severity: Severity
    about: JsonValue
    where: str
    message: str
    suggestion: str
    clause: str | None = None
    sampled: bool = False
    witness: WitnessQuery | None = None
    universal: bool = False
    rule: str | None = None

    @property
    def proof(self) -> Proof:
        """What it rests on."""
        if self.witness is not None and not self.universal:
            return Proof.FOUND
        return Proof.NOT_FOUND if self.sampled else Proof.PROVED


def rule_content(rule: RuleText) -> JsonValue:
    """Return what a rule says, without its name, its place and its words."""
    condition = rule.if_.model_dump(mode="json", exclude_defaults=True) if rule.if_ is not None else {}
    return [rule.then.value, condition]
