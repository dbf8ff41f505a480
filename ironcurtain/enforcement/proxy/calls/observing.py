"""What becomes of a call where nothing is enforced: it is sent, if it can be, and its record says so."""

from __future__ import annotations

from dataclasses import replace

from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.proxy.calls.evaluated_call import EvaluatedCall
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Json


def observed(judged: EvaluatedCall, *, is_tool: bool) -> EvaluatedCall:
    """Let a call through, whatever was decided: as it came, where it was refused before it was canonical.

    What is no strict JSON object cannot be sent on; a tool that its server does not list cannot be called.
    """
    decision, call = judged.decision, judged.call
    sent = decision.arguments
    words = "observed only, not enforced"
    if sent is None and (call.live_digest or not is_tool):
        sent = _as_it_came(call)
        words = f"{words}, and sent as it came" if sent is not None else words
    if sent is None:
        words = "observed only, but it cannot be sent"
    marked = decision.model_copy(update={"reason": f"{words}: {decision.reason}"})
    return replace(judged, decision=marked, sent=sent, forwarded=sent is not None)


def _as_it_came(call: Call) -> dict[str, Json] | None:
    """Return the arguments of a call that were never canonical; None if they are no strict JSON object."""
    try:
        is_text = isinstance(call.arguments, str | bytes)
        given = json_text.parse(call.arguments) if is_text else json_text.plain(call.arguments)
    except json_text.MalformedJsonError:
        return None
    return {} if given is None else given if isinstance(given, dict) else None
