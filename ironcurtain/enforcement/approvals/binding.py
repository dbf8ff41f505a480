"""What an approval is good for: one digest over the whole call and everything it was judged by."""

from __future__ import annotations

from ironcurtain.decision.decide import Prepared
from ironcurtain.enforcement.approvals.grants import offer_of
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.system import json_text


def binding_of(decision: Decision, prepared: Prepared, tool: ToolAnnotation, *, session: str) -> str:
    """Return the digest that an approval of a decided call binds to (specification 4.2).

    The subjects go in with their verdicts and rules, and so does what "for this session" means, since a
    person answers what they were shown.

    Args:
        decision: The decision, an `escalate`.
        prepared: The call that it was made about.
        tool: The tool's annotation, with its schema digest.
        session: The name of the asking session, the same after a restart.
    """
    return json_text.digest(
        {
            "server": decision.server,
            "tool": decision.tool,
            "schema": tool.schema_digest,
            "arguments": prepared.call.arguments,
            "meta": dict(prepared.meta),
            "client": prepared.client,
            "subjects": [subject.model_dump(mode="json") for subject in decision.subjects],
            "rule": decision.rule,
            "caller": prepared.input["caller"],
            "session": session,
            "offer": offer_of(decision, prepared, tool).model_dump(mode="json"),
            "revision": decision.revision,
        }
    )
