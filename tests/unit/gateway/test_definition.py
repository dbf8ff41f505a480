"""What is checked when a tool is declared, and what its markers say of its arguments."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, RootModel

from ironcurtain.errors import GatewayError, SeveralErrors
from ironcurtain.gateway import Gateway, Is, ReadPath, WritePath, cli_command, define_tool
from ironcurtain.gateway.roles import UnclearRolesError, arguments_of


class Empty(BaseModel):
    value: str = ""


class Listed(RootModel[list[str]]):
    pass


GOOD: dict[str, Any] = {
    "name": "a_tool",
    "description": "A tool.",
    "classification": "read",
    "permissions": ["public"],
    "input": Empty,
    "output": Empty,
    "output_policy": {".": "allow"},
    "handler": lambda given: given,
}

WRONG = [
    ({"name": ""}, "not snake_case"),
    ({"name": "getTicket"}, "not snake_case"),
    ({"name": "a__b"}, "not snake_case"),
    ({"name": "a" * 65}, "not snake_case"),
    ({"description": " "}, "no description"),
    ({"classification": "delete"}, "no classification"),
    ({"permissions": []}, "requires no permission"),
    ({"permissions": "public"}, "no list of names"),
    ({"permissions": ["a b"]}, "no name of a permission"),
    ({"input": dict}, "no pydantic model"),
    ({"input": Listed}, "no pydantic model"),
    ({"output": Listed}, "no pydantic model"),
    ({"output_policy": {"a": "allow"}}, "position 1"),
    ({"output_policy": ["."]}, "no mapping"),
    ({"handler": None}, "no handler"),
    ({"handler": lambda: None}, "takes neither"),
    ({"handler": cli_command("no-such-program-anywhere", lambda _: [])}, "was not found"),
    ({"handler": cli_command("echo", lambda _: [], cwd="/no/such/place")}, "does not exist"),
    ({"handler": cli_command("echo", lambda _: [], timeout=0)}, "no number of seconds"),
    ({"handler": cli_command("echo", lambda _: [], most_bytes=0)}, "no number of bytes"),
    ({"elevated_permissions": ["more"]}, "belong together"),
    ({"elevated_if": lambda _: True}, "belong together"),
    ({"pii_fields": ["nothing"]}, "no argument"),
    ({"pii_fields": "value"}, "no list of names"),
    ({"pii_fields": None}, "no list of names"),
    ({"permissions": None}, "no list of names"),
    ({"permissions": ["public", 1]}, "no list of names"),
    ({"elevated_if": True, "elevated_permissions": ["public"]}, "elevated_if is no function"),
    ({"handler": cli_command("echo", lambda _: [], cwd="here")}, "no absolute path"),
    ({"timeout": 0}, "no number of seconds"),
    ({"outputs": Empty}, 'there is no keyword "outputs"'),
]


@pytest.mark.parametrize(("changed", "words"), WRONG)
def test_a_declaration_is_refused(changed: dict[str, Any], words: str) -> None:
    tool = define_tool(**{**GOOD, **changed})
    with pytest.raises(GatewayError, match=words):
        Gateway("test", [tool]).check()


@pytest.mark.parametrize("allowed", [["/bin/false"], []])
def test_a_domain_may_run_no_program_that_the_gateway_may_not(allowed: list[str]) -> None:
    tool = define_tool(**{**GOOD, "handler": cli_command("echo", lambda _: [])})
    whole = Gateway("test", [tool], permissions=["public"], allowed_commands=allowed)
    with pytest.raises(GatewayError, match="may not run"):
        whole.restricted(["a_tool"]).check()


SUGGESTED = [
    ({"permissions": ["tickets:raed"]}, 'Did you mean "tickets:read"?'),
    ({"pii_fields": ["valeu"]}, 'Did you mean "value"?'),
    ({"descripton": "A tool."}, 'Did you mean "description"?'),
]


@pytest.mark.parametrize(("changed", "hint"), SUGGESTED)
def test_a_misspelt_name_comes_with_the_one_that_was_meant(changed: dict[str, Any], hint: str) -> None:
    tool = define_tool(**{**GOOD, **changed})
    with pytest.raises(GatewayError) as told:
        Gateway("test", [tool], permissions=["tickets:read", "tickets:write"]).check()
    assert hint in told.value.hint


def test_a_missing_keyword_is_told_once_and_with_the_other_mistakes() -> None:
    declared: Any = define_tool  # type checkers see what is wrong here
    tool = declared("a_tool", **{name: GOOD[name] for name in ("name", "input", "handler")}, permissions=[])
    with pytest.raises(SeveralErrors) as told:
        Gateway("test", [tool]).check()
    said = [error.what.partition(": ")[2] for error in told.value.errors]
    assert said == [
        "it has no description",
        "it has no classification",
        "it has no output",
        "it has no output_policy",
        "a value stands without its keyword",
        "it requires no permission",
    ]
    assert {error.where and error.where.source for error in told.value.errors} == {__file__}


def test_a_text_for_a_list_of_permissions_is_one_mistake() -> None:
    tool = define_tool(**{**GOOD, "permissions": "tickets:read"})
    with pytest.raises(GatewayError, match="no list of names"):
        Gateway("test", [tool], permissions=["public"]).check()


def test_a_declaration_without_mistakes_is_taken() -> None:
    Gateway("test", [define_tool(**GOOD)]).check()


def test_all_mistakes_of_all_tools_are_told_with_the_line_of_each() -> None:
    first = define_tool(**{**GOOD, "name": "", "permissions": []})
    second = define_tool(**{**GOOD, "description": ""})
    with pytest.raises(SeveralErrors) as told:
        Gateway("te__st", [first, second]).check()
    places = [error.where for error in told.value.errors if error.where is not None]
    assert len(places) == len(told.value.errors) == 4
    assert len({place.line for place in places}) == 3
    assert {place.source for place in places} == {__file__}


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(SeveralErrors) as told:
        Gateway("test", [define_tool(**GOOD), define_tool(**GOOD)]).check()
    assert all("another tool has the same name" in error.what for error in told.value.errors)


def test_a_permission_that_the_gateway_does_not_name_is_refused() -> None:
    tool = define_tool(**{**GOOD, "permissions": ["tickets:raed"]})
    with pytest.raises(GatewayError, match="does not exist"):
        Gateway("test", [tool], permissions=["tickets:read"]).check()


def test_a_command_that_is_not_in_the_list_is_refused() -> None:
    tool = define_tool(**{**GOOD, "handler": cli_command("echo", lambda _: [])})
    with pytest.raises(GatewayError, match="may not run"):
        Gateway("test", [tool], allowed_commands=["/bin/true"]).check()


class File(BaseModel):
    path: ReadPath
    note: str = ""


class Marked(BaseModel):
    source: Annotated[str, Is("read-path", ("delete-path",))]
    target: WritePath | None = None
    many: list[ReadPath] = Field(default_factory=list)
    files: list[File] = Field(default_factory=list)
    ticket: Annotated[str, Is("ticket"), Field(alias="ticketId")]
    only_looks_like_it: Annotated[str, Is("none")] = ""
    plain: dict[str, str] = Field(default_factory=dict)


def test_markers_say_what_arguments_are() -> None:
    found = {argument.name: argument.roles for argument in arguments_of(Marked, frozenset())}
    assert found == {
        "source": ("read-path", "delete-path"),
        "target": ("write-path",),
        "/many/*": ("read-path",),
        "/files/*/path": ("read-path",),
        "/files/*/note": ("none",),
        "ticketId": ("ticket",),
        "only_looks_like_it": ("none",),
        "plain": ("none",),
    }


class UnderAnyKey(BaseModel):
    files: dict[str, ReadPath]


class Node(BaseModel):
    path: ReadPath
    inside: list[Node] = Field(default_factory=list)


@pytest.mark.parametrize("model", [UnderAnyKey, Node])
def test_a_marker_that_no_pointer_leads_to_is_refused(model: type[BaseModel]) -> None:
    with pytest.raises(UnclearRolesError):
        arguments_of(model, frozenset())
