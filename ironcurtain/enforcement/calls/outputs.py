"""What leaves of answers: output policies of gateways' tools, and of tools of proxied servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Final

from anyio import to_thread
from pydantic import JsonValue

from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.audit.record_types import FilteredOutput, GatewayCall
from ironcurtain.enforcement.calls.destination import NoAnswerError, ServerResult
from ironcurtain.enforcement.calls.evaluated_call import EvaluatedCall
from ironcurtain.enforcement.calls.refusal import error_result
from ironcurtain.gateway.admission import RULES, Admission, Stage
from ironcurtain.gateway.calling import INTERNAL, CallNotes
from ironcurtain.gateway.output.automaton import State
from ironcurtain.gateway.output.evasions import WRAPPED, evades
from ironcurtain.gateway.output.paths import AnyIndex, Index, Key, Path
from ironcurtain.gateway.output.policy import Filtered, OutputPolicy, UnfilterableError, read_value
from ironcurtain.gateway.output.projection import Schema, project
from ironcurtain.gateway.output.rules import Action
from ironcurtain.model.verdict import Verdict

_ToolName = tuple[str, str]

FAILED: Final = "The tool failed."
SILENT: Final = "The server of this tool gave no answer."
_OBJECT, _ARRAY = ("{", r"\u007b"), ("[", r"\u005b")
"""What an object and an array begin with in a text, plain and escaped."""
_FEW = 2_000


class Outputs:
    """The output policies of one proxy.

    Args:
        policies: By server and tool.
        own: The servers that are gateways: what these say of a failure is ours already.
    """

    def __init__(
        self, policies: Mapping[_ToolName, OutputPolicy] | None = None, own: frozenset[str] = frozenset()
    ) -> None:
        self._policies = dict(policies or {})
        self._own = own
        self._schemas: dict[_ToolName, tuple[Schema, Schema]] = {}

    def schema(self, server: str, tool: str, schema: Schema | None) -> Schema | None:
        """Return the output schema that clients are told of."""
        policy = self._policies.get((server, tool))
        if policy is None or schema is None:
            return schema
        known = self._schemas.get((server, tool))
        if known is None or known[0] != schema:
            known = self._schemas[server, tool] = (schema, project(policy, schema))
        return known[1]

    async def filtered(self, call: Call, result: ServerResult, notes: CallNotes) -> ServerResult:
        """Return what leaves of a tool's result; all of it, where the tool has no output policy.

        Links, images, embedded resources and `_meta` never leave: no path names them.
        """
        policy = self._policies.get((call.server, call.tool))
        if policy is None:
            return result
        if result.get("isError") is True:
            return result if call.server in self._own else error_result(FAILED)
        try:
            value = value_of(result)
            if "structuredContent" not in result:
                _check_texts(policy, value, policy.start())
            elif call.server not in self._own and isinstance(value, dict) and value.keys() == {WRAPPED}:
                _check_texts(policy, value[WRAPPED], policy.key(policy.start(), WRAPPED))
            is_texts = "structuredContent" not in result
            work = partial(_written, policy, value, is_texts=None if call.server in self._own else is_texts)
            # A large answer must not keep other calls waiting.
            found, text = work() if _is_small(value) else await to_thread.run_sync(work)
        except UnfilterableError as error:
            notes.stage, notes.detail = Stage.OUTPUT, f"the answer cannot be filtered: {error}"
            return error_result(INTERNAL)
        notes.masked, notes.redacted, notes.stripped = found.masked, found.redacted, found.stripped
        made: ServerResult = {"content": [{"type": "text", "text": text}]}
        if "structuredContent" in result:
            made["structuredContent"] = found.value if isinstance(found.value, dict) else {}
        return made

    def covers(self, server: str, tool: str) -> bool:
        """Tell whether a tool of a proxied server has an output policy: what else it says must not leave."""
        return server not in self._own and (server, tool) in self._policies

    def silences(self, server: str) -> bool:
        """Tell whether any tool of a proxied server has one: its log messages name no tool."""
        return server not in self._own and any(known == server for known, _ in self._policies)

    def failure(self, call: Call, error: Exception, own: str) -> ServerResult | None:
        """Return what leaves of a failure, whose words may be the server's own; None where that is free.

        Args:
            call: The call.
            error: Why it failed.
            own: What the server's own error is named, if it is one.
        """
        if not self.covers(call.server, call.tool) or not (own or isinstance(error, NoAnswerError)):
            return None
        return error_result(FAILED if own else SILENT)

    def summary(self, call: Call, notes: CallNotes) -> FilteredOutput | None:
        """Return what is recorded of an answer; None where the tool has no output policy."""
        if (call.server, call.tool) not in self._policies:
            return None
        return FilteredOutput.model_validate(
            {
                "stage": notes.stage.value if notes.stage is not None else None,
                "masked": dict(notes.masked),
                "redacted": dict(notes.redacted),
                "stripped": notes.stripped,
            }
        )


def value_of(result: Mapping[str, JsonValue]) -> JsonValue:
    """Return the value of a result: its structured content, or else what its one text holds.

    A text that is no JSON is one string; several texts are an array.

    Raises:
        UnfilterableError: If a text holds JSON that two parsers could read differently.
    """
    if "structuredContent" in result:
        return result["structuredContent"]
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [each.get("text") for each in blocks if isinstance(each, dict) and each.get("type") == "text"]
    values = [_value(text) for text in texts if isinstance(text, str)]
    return values[0] if len(values) == 1 else values


def _value(text: str) -> JsonValue:
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return read_value(text)


def _check_texts(policy: OutputPolicy, value: JsonValue, state: State) -> None:
    """Refuse texts that hold what the policy takes something out of, and are no JSON.

    Lines of JSON, or a sentence before it, would leave whole, as one string.

    Args:
        policy: The policy.
        value: A text, or several.
        state: Its place.

    Raises:
        UnfilterableError: If there is one.
    """
    held = [rule.path for rule in policy.rules if rule.action is not Action.ALLOW]
    if not held:
        return
    marks = (*_OBJECT, *_ARRAY) if any(map(_is_of_arrays, held)) else _OBJECT
    texts = enumerate(value) if isinstance(value, list) else ()
    places = [(value, state), *((each, policy.index(state, number)) for number, each in texts)]
    for each, place in places:
        if (
            isinstance(each, str)
            and any(mark in each.lower() for mark in marks)
            and policy.outcome(place).action is Action.ALLOW
        ):
            raise UnfilterableError("it is a text that holds an object or array, and no JSON")


def _is_of_arrays(path: Path) -> bool:
    """Tell whether a path names places in arrays that lie in no object, as columns of a table."""
    steps = [step for step in path.steps if step != Key(WRAPPED)]
    return bool(steps) and all(isinstance(step, Index | AnyIndex) for step in steps)


def _written(policy: OutputPolicy, value: JsonValue, *, is_texts: bool | None) -> tuple[Filtered, str]:
    """Filter a value; return what is left, and its text.

    Args:
        policy: The policy.
        value: The value.
        is_texts: Whether it was made of the texts of an answer; None where we made it ourselves.
    """
    found = policy.apply(value)
    if is_texts is not None and evades(policy, value, is_texts=is_texts):
        raise UnfilterableError("what the policy takes out lies in it where no path leads")
    try:
        text = json.dumps({} if found.is_empty else found.value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except ValueError:
        raise UnfilterableError("it is no strict JSON") from None
    return found, text


def _is_small(value: JsonValue) -> bool:
    """Tell whether a value is filtered within a moment."""
    waiting, seen = [value], 0
    while waiting and seen <= _FEW:
        each = waiting.pop()
        seen += 1
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, str):
            seen += len(each) >> 10
    return not waiting


def gateway_call(admission: Admission, evaluated: EvaluatedCall) -> GatewayCall | None:
    """Return what is recorded of a call of a gateway's tool; None for one of another server."""
    call, decision = evaluated.call, evaluated.decision
    if not admission.is_ours(call.server):
        return None
    refused = None if decision.verdict is Verdict.ALLOW else Stage.POLICY
    if evaluated.forwarded:
        refused = None
    stage = RULES.get(decision.rule, refused)
    return GatewayCall.model_validate(
        {
            "caller": (call.caller or {}).get("sub"),
            "classification": admission.classification(call.server, call.tool),
            "stage": stage.value if stage is not None else None,
        }
    )
