"""The published JSON Schemas, generated from our models; `schemas/` holds them, a test holds them equal."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel

from ironcurtain.llm.question import Answer
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.base import Json
from ironcurtain.model.decision import Decision
from ironcurtain.model.difference import Difference
from ironcurtain.model.guarantees import GuaranteeReport, Guarantees
from ironcurtain.model.lists import Lists
from ironcurtain.model.matrix import Matrix
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.model.servers import Servers
from ironcurtain.model.verification import Verification
from ironcurtain.pipeline.input_schema import policy_input_schema
from ironcurtain.roles.registry import Registry


def _of(model: type[BaseModel]) -> Callable[[], Json]:
    return lambda: model.model_json_schema(by_alias=True)


SCHEMAS: dict[str, Callable[[], Json]] = {
    "annotations": _of(Annotations),
    "answer": _of(Answer),
    "decision": _of(Decision),
    "difference": _of(Difference),
    "guarantee-report": _of(GuaranteeReport),
    "guarantees": _of(Guarantees),
    "input": lambda: policy_input_schema(Registry()),
    "lists": _of(Lists),
    "matrix": _of(Matrix),
    "policy": _of(CompiledPolicy),
    "scenarios": _of(Scenarios),
    "servers": _of(Servers),
    "verification": _of(Verification),
}
"""By name: what makes the schema. `input` is the policy input, in the words of OPA's type checker."""
