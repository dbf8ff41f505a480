"""Reading the engine's answer: everything but a decision object of the expected revision is an error."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_core import from_json

from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

HTTP_OK = 200
_LONGEST_ID = 128
BUNDLE_NAME = "policy.tar.gz"
"""The name under which OPA knows the bundle: the file it is loaded from, relative to its directory."""
REMOTE_BUNDLE_NAME = "ironcurtain"
"""The name of the bundle in the configuration of an OPA that others run."""


class EngineAnswerError(Exception):
    """The engine gave no decision. The call is denied by `rule`.

    Attributes:
        rule: One of the rules of the engine.
        reason: One sentence in plain words, safe to show.
    """

    def __init__(self, rule: ReservedRule, reason: str) -> None:
        super().__init__(f"{rule}: {reason}")
        self.rule = rule
        self.reason = reason


class EngineAnswer(Struct):
    """A decision object as the policy returned it; its inside is not yet checked.

    Attributes:
        result: The object at `data.ironcurtain.decision.decision`.
        revision: The revision of the bundle that decided, as OPA reports it.
        decision_id: OPA's own id of the decision; only an OPA that logs its decisions gives one.
    """

    result: dict[str, JsonValue]
    revision: str
    decision_id: str | None = None


def read_answer(status: int, body: bytes, revision: str, *, bundle: str = BUNDLE_NAME) -> EngineAnswer:
    """Read OPA's answer to the one query.

    Args:
        status: The HTTP status.
        body: The HTTP body.
        revision: The bundle revision that must have decided.
        bundle: The name under which this OPA knows the bundle.

    Raises:
        EngineAnswerError: If it is anything but a decision object of that revision.
    """
    document = _document(status, body)
    found = _revision(document, bundle)
    if found != revision:
        of = f"revision {quoted(str(found))}" if found is not None else _other_bundles(document, bundle)
        raise EngineAnswerError(
            ReservedRule.ENGINE_REVISION, f"the engine answered from {of}, not {quoted(revision)}"
        )
    if "result" not in document:
        raise EngineAnswerError(ReservedRule.ENGINE_UNDEFINED, "the policy left the decision undefined")
    result = document["result"]
    if not isinstance(result, dict):
        raise EngineAnswerError(ReservedRule.ENGINE_MALFORMED, "the decision is no object")
    id_ = document.get("decision_id")
    if not isinstance(id_, str) or len(id_) > _LONGEST_ID or not id_.isprintable():
        id_ = None
    return EngineAnswer(result, revision, id_)


def _document(status: int, body: bytes) -> dict[str, JsonValue]:
    if status != HTTP_OK:
        shown = quoted(body[:2000].decode("utf-8", "replace"), limit=400)
        raise EngineAnswerError(
            ReservedRule.ENGINE_STATUS, f"the engine answered with HTTP status {status}: {shown}"
        )
    try:
        document = from_json(body)
    except ValueError:
        raise EngineAnswerError(ReservedRule.ENGINE_MALFORMED, "the engine's answer is no JSON") from None
    if not isinstance(document, dict):
        raise EngineAnswerError(ReservedRule.ENGINE_MALFORMED, "the engine's answer is no object")
    return document


def _revision(document: dict[str, JsonValue], bundle: str) -> JsonValue:
    return _below(document, ("provenance", "bundles", bundle, "revision"))


def _other_bundles(document: dict[str, JsonValue], bundle: str) -> str:
    """Say that no bundle has the name by which it is asked for, and which names there are."""
    bundles = _below(document, ("provenance", "bundles"))
    names = ", ".join(map(quoted, sorted(bundles))) if isinstance(bundles, dict) else ""
    has = f" (its configuration calls it {names})" if names else ""
    return f"no bundle of the name {quoted(bundle)}{has}"


def _below(found: JsonValue, keys: Iterable[str]) -> JsonValue:
    for key in keys:
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    return found
