"""The form of a call: every call comes back from it as it was, whatever its tool's schema is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.errors import UsageError
from ironcurtain.model.scenarios import DescribedFile, DescribedWorld, ScenarioCall
from ironcurtain.system.files import parse_document
from ironcurtain.system.frozen import JsonValue
from ironcurtain.web.playground import machine_text
from ironcurtain.web.playground_form import MOST_FIELDS, CallForm

SHOP = Path(__file__).parents[3] / "examples" / "shop" / "generated" / "bundle"
PROPERTIES: dict[str, JsonValue] = {
    "text": {"type": "string", "description": "A text."},
    "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    "number": {"type": ["integer", "null"]},
    "flag": {"type": "boolean"},
    "mode": {"enum": ["soft", 1, None]},
    "list": {"type": "array", "items": {"type": "string"}},
    "any": {},
    "either": {"oneOf": [{"type": "string"}, {"const": "x"}]},
    "\u202ehidden": {"type": "string"},
    "line\nbreak": {"type": "string"},
}


def policy(directory: Path, properties: dict[str, Any], *required: str) -> LoadedPolicy:
    args = [{"name": name, "roles": ["none"]} for name in properties]
    schema = {"type": "object", "properties": properties, "required": list(required)}
    tools = [tool("t") | {"args": args, "input_schema": schema}]
    bundle = write_bundle(directory, {"s": tools}, [rule("r", "deny", tool=["t"])])
    return load_described(open_bundle(bundle, Trust()), DescribedWorld())


@pytest.fixture(scope="module")
def form(tmp_path_factory: pytest.TempPathFactory) -> CallForm:
    found = CallForm.of(policy(tmp_path_factory.mktemp("form"), PROPERTIES, "text"), "s", "t")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def shop() -> CallForm:
    loaded = load_described(open_bundle(SHOP, Trust()), DescribedWorld())
    found = CallForm.of(loaded, "shop", "cancel_order")
    assert found is not None
    return found


def test_each_schema_has_the_field_that_fits_it(form: CallForm) -> None:
    kinds = {each.key: each.kind for each in form.arguments.fields}
    assert kinds == {
        "text": "text",
        "maybe": "text",
        "number": "json",
        "flag": "choice",
        "mode": "choice",
        "list": "json",
        "any": "json",
        "either": "json",
    }
    by_key = {each.key: each for each in form.arguments.fields}
    assert by_key["text"].about == "required, A text."
    assert by_key["mode"].choices == (('"soft"', "soft"), ("1", "1"), ("null", "null"))


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text()
    | st.sampled_from(["soft", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300)
@given(arguments=st.dictionaries(st.sampled_from([*PROPERTIES, "more"]), VALUES), caller=VALUES)
def test_a_call_comes_back_as_it_was(
    form: CallForm, arguments: dict[str, JsonValue], caller: JsonValue
) -> None:
    call = ScenarioCall(server="s", tool="t", arguments=arguments, caller={"sub": caller})
    typed = form.written(call)
    assert form.read(typed) == call
    # What a browser sends: line breaks as CRLF, which only JSON could hold.
    assert all("\r" not in text and "\n" not in text for text in typed.values())


def test_facts_come_back_as_they_were(shop: CallForm) -> None:
    facts: dict[str, JsonValue] = {"order": {"status": "pending", "placed": "2026-11-23T08:30:00Z"}}
    call = ScenarioCall(server="shop", tool="cancel_order", facts=facts, at="2026-11-23T10:00:00Z")
    typed = shop.written(call)
    assert typed["fact:order/placed"] == "2026-11-23T08:30:00Z"
    again = shop.read(typed)
    assert again.at == call.at
    assert again.facts == {"order/status": "pending", "order": {"placed": "2026-11-23T08:30:00Z"}}
    aged = shop.read({"fact:order/placed": "5400"})
    assert aged.facts == {"order/placed": 5400}


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"argument:number": "1,5"}, "number is not strict JSON"),
        ({"other-arguments": "[1]"}, "written as a JSON object"),
        ({"argument:text": "a", "other-arguments": '{"text": "b"}'}, '"text" has a field of its own'),
        ({"other-caller": '{"a": 1, "a": 2}'}, "duplicate key"),
    ],
)
def test_what_says_no_call_is_told(form: CallForm, typed: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("[", r"\[")):
        form.read(typed)


def test_a_tool_with_many_arguments_has_a_form_with_few_fields(tmp_path: Path) -> None:
    found = CallForm.of(policy(tmp_path, {f"a{n}": {"type": "string"} for n in range(500)}), "s", "t")
    assert found is not None
    assert len(found.arguments.fields) == MOST_FIELDS
    arguments: dict[str, JsonValue] = {f"a{n}": "x" for n in range(500)}
    call = ScenarioCall(server="s", tool="t", arguments=arguments)
    assert found.read(found.written(call)).arguments == arguments


def test_an_unknown_tool_has_no_form(tmp_path: Path) -> None:
    assert CallForm.of(policy(tmp_path, {}), "s", "none") is None


@pytest.mark.parametrize("path", ["/srv/a b", "/srv/ja", "/srv/yes: no", "/srv/'#x", '/srv/"é"', "~/a"])
def test_a_machine_is_read_as_it_was_written(path: str) -> None:
    machine = DescribedWorld(
        sandbox="/work",
        files={path: DescribedFile(links=2)},
        symlinks={"/l": path},
        domains={"git": ("*.x",)},
    )
    assert parse_document(machine_text(machine), "machine.yaml", DescribedWorld) == machine
