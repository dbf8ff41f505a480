"""The published JSON Schemas, generated from our models; `schemas/` holds them, a test holds them equal."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel

from ironcurtain.bundle.domain import Domain
from ironcurtain.files import SCHEMA_KEY
from ironcurtain.gateway.principal import PermissionsFile, TokenSettings
from ironcurtain.llm.question import Answer
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.approval import ApprovalNotice, Approvals, SealedAnswer, SealedRequest
from ironcurtain.model.attack import AttackReport
from ironcurtain.model.audit import AuditVerification, Head, Line
from ironcurtain.model.audit_report import AuditEntry, AuditReport, AuditStats
from ironcurtain.model.base import Json
from ironcurtain.model.clause_report import ClauseExplanation, ClauseReport
from ironcurtain.model.clients import ClientReport
from ironcurtain.model.coverage import CoverageReport
from ironcurtain.model.decision import Decision
from ironcurtain.model.diff_approvals import DiffApprovals
from ironcurtain.model.difference import Difference
from ironcurtain.model.doctor import DoctorReport
from ironcurtain.model.drift import DriftReport
from ironcurtain.model.explanation import AgentView, Explanation
from ironcurtain.model.fetched import ServerLock
from ironcurtain.model.findings import FindingReport
from ironcurtain.model.forecast import Forecast, Profile
from ironcurtain.model.gate import GateReport
from ironcurtain.model.guarantees import GuaranteeReport, Guarantees
from ironcurtain.model.lists import Lists
from ironcurtain.model.matrix import Matrix
from ironcurtain.model.mutation import MutationReport
from ironcurtain.model.narrowing import Narrowing
from ironcurtain.model.onboarding import Onboarding, ServerList
from ironcurtain.model.policy import ClauseList, CompiledPolicy
from ironcurtain.model.provenance import Statement
from ironcurtain.model.replay import Replay
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.model.servers import Servers
from ironcurtain.model.status import ProxyStatus, Status
from ironcurtain.model.verification import Verification
from ironcurtain.model.waivers import Waivers
from ironcurtain.pipeline.clause_record import NotedClauses
from ironcurtain.pipeline.confirmations import Confirmations
from ironcurtain.pipeline.input_schema import policy_input_schema
from ironcurtain.pipeline.linter import LintReport
from ironcurtain.pipeline.questions import OpenQuestions, WaitingQuestions
from ironcurtain.roles.registry import Registry
from ironcurtain.settings import Settings


def _of(model: type[BaseModel]) -> Callable[[], Json]:
    return lambda: model.model_json_schema(by_alias=True)


def _written(model: type[BaseModel]) -> Callable[[], Json]:
    """Make the schema of a file that people write, which may name its schema for an editor."""

    def make() -> Json:
        schema = model.model_json_schema(by_alias=True)
        key = {"description": "Where an editor finds this schema.", "title": "Schema", "type": "string"}
        return {**schema, "properties": {SCHEMA_KEY: key, **schema["properties"]}}

    return make


SCHEMAS: dict[str, Callable[[], Json]] = {
    "agent-view": _of(AgentView),
    "annotations": _written(Annotations),
    "answer": _of(Answer),
    "approval-answer": _of(SealedAnswer),
    "approval-notice": _of(ApprovalNotice),
    "approval-request": _of(SealedRequest),
    "approvals": _of(Approvals),
    "attack": _of(AttackReport),
    "audit": _of(Line),
    "audit-entry": _of(AuditEntry),
    "audit-head": _of(Head),
    "audit-report": _of(AuditReport),
    "audit-stats": _of(AuditStats),
    "audit-verification": _of(AuditVerification),
    "client-report": _of(ClientReport),
    "coverage": _of(CoverageReport),
    "clause-explanation": _of(ClauseExplanation),
    "clause-ids": _of(NotedClauses),
    "clause-report": _of(ClauseReport),
    "clauses": _of(ClauseList),
    "confirmations": _written(Confirmations),
    "decision": _of(Decision),
    "diff-approvals": _written(DiffApprovals),
    "difference": _of(Difference),
    "doctor": _of(DoctorReport),
    "domain": _written(Domain),
    "drift": _of(DriftReport),
    "forecast": _of(Forecast),
    "gate-report": _of(GateReport),
    "findings": _of(FindingReport),
    "explanation": _of(Explanation),
    "guarantee-report": _of(GuaranteeReport),
    "guarantees": _written(Guarantees),
    "input": lambda: policy_input_schema(Registry()),
    "lint": _of(LintReport),
    "lists": _written(Lists),
    "matrix": _of(Matrix),
    "narrowing": _of(Narrowing),
    "mutation": _of(MutationReport),
    "onboarding": _of(Onboarding),
    "open-questions": _of(OpenQuestions),
    "permissions": _written(PermissionsFile),
    "policy": _written(CompiledPolicy),
    "profile": _written(Profile),
    "waiting-questions": _of(WaitingQuestions),
    "provenance": _of(Statement),
    "proxy-status": _of(ProxyStatus),
    "replay": _of(Replay),
    "scenarios": _written(Scenarios),
    "settings": _of(Settings),
    "status": _of(Status),
    "server-list": _of(ServerList),
    "server-lock": _of(ServerLock),
    "servers": _written(Servers),
    "tokens": _written(TokenSettings),
    "verification": _of(Verification),
    "waivers": _written(Waivers),
}
"""By name: what makes the schema. `input` is the policy input, in the words of OPA's type checker."""
