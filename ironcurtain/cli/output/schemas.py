"""The published JSON Schemas, generated from our models; `schemas/` holds them, a test holds them equal."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel

from ironcurtain.analysis.advice.forecast_report import Forecast, UsageProfile
from ironcurtain.analysis.advice.report import Advice
from ironcurtain.analysis.attack.report import AttackReport
from ironcurtain.analysis.clauses.report import ClauseExplanation, ClauseReport
from ironcurtain.analysis.coverage.report import CoverageReport
from ironcurtain.analysis.diff.report import Difference
from ironcurtain.analysis.drift.report import DriftReport
from ironcurtain.analysis.explain.report import Explanation
from ironcurtain.analysis.findings.report import FindingReport
from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.analysis.matrix.report import Matrix
from ironcurtain.analysis.mutation.report import MutationReport
from ironcurtain.analysis.narrowing.report import Narrowing
from ironcurtain.analysis.onboarding.report import Onboarding, ServerList
from ironcurtain.analysis.receipts.report import Receipt
from ironcurtain.analysis.replay.report import Replay
from ironcurtain.bundle.domain import Domain
from ironcurtain.bundle.provenance_model import Statement
from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.compiler.llm.question import Answer
from ironcurtain.compiler.load.clause_record import NotedClauses
from ironcurtain.compiler.load.linter import LintReport
from ironcurtain.compiler.questions.open_questions import OpenQuestions, WaitingQuestions
from ironcurtain.compiler.render.input_schema import policy_input_schema
from ironcurtain.compiler.verify.gate_report import GateReport
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.decision.agent_view import AgentView
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.approvals.messages import ApprovalNotice, Approvals, SealedAnswer, SealedRequest
from ironcurtain.enforcement.audit.record_types import AuditVerification, Head, Line
from ironcurtain.enforcement.audit.summary import AuditEntry, AuditReport, AuditStats
from ironcurtain.enforcement.facts.memory_report import SessionState
from ironcurtain.enforcement.proxy.status.report import ProxyStatus, Status
from ironcurtain.gateway.principal import PermissionsFile, TokenSettings
from ironcurtain.integrations.blame.report import Blame
from ironcurtain.integrations.clients.report import ClientReport
from ironcurtain.integrations.doctor.installation import DoctorReport
from ironcurtain.integrations.gate.change_approvals import DiffApprovals
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.decision import Decision
from ironcurtain.model.guarantees import GuaranteeReport, Guarantees
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import ClauseList, CompiledPolicy
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.servers.config_model import Servers
from ironcurtain.servers.fetched.lock import ServerLock
from ironcurtain.servers.samples import ToolSamples
from ironcurtain.session.record import SessionRecord
from ironcurtain.settings import Settings
from ironcurtain.system.files import SCHEMA_KEY
from ironcurtain.system.frozen import JsonValue


def _of(model: type[BaseModel]) -> Callable[[], JsonValue]:
    return lambda: model.model_json_schema(by_alias=True)


def _written(model: type[BaseModel]) -> Callable[[], JsonValue]:
    """Make the schema of a file that people write, which may name its schema for an editor."""

    def make() -> JsonValue:
        schema = model.model_json_schema(by_alias=True)
        key = {"description": "Where an editor finds this schema.", "title": "Schema", "type": "string"}
        return {**schema, "properties": {SCHEMA_KEY: key, **schema["properties"]}}

    return make


SCHEMAS: dict[str, Callable[[], JsonValue]] = {
    "advice": _of(Advice),
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
    "blame": _of(Blame),
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
    "profile": _written(UsageProfile),
    "waiting-questions": _of(WaitingQuestions),
    "provenance": _of(Statement),
    "proxy-status": _of(ProxyStatus),
    "receipt": _of(Receipt),
    "replay": _of(Replay),
    "samples": _written(ToolSamples),
    "scenarios": _written(Scenarios),
    "session-state": _of(SessionState),
    "settings": _of(Settings),
    "status": _of(Status),
    "server-list": _of(ServerList),
    "server-lock": _of(ServerLock),
    "session": _of(SessionRecord),
    "servers": _written(Servers),
    "tokens": _written(TokenSettings),
    "verification": _of(Verification),
    "waivers": _written(Waivers),
}
"""By name: what makes the schema. `input` is the policy input, in the words of OPA's type checker."""
