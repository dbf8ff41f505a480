"""Named lists by hand: types, spellings, and that a person's word outlasts every refresh."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironcurtain.compiler.lists.edit import add_values, read_lists, remove_values, with_list, write_lists
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import ListError, SeveralErrors, UsageError
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.model.lists import Lists, NamedList

CHANNEL = IdentifierRole(name="channel", description="A channel.", case="exact", numbers=True)
REGISTRY = Registry([CHANNEL])
EMPTY = Lists(format="ironcurtain/lists/v1")


def add(kind: str, *values: str) -> tuple[str, ...]:
    return add_values(EMPTY, "x", values, NamedList(type=kind), REGISTRY).lists.lists["x"].values


@pytest.mark.parametrize(
    ("kind", "value", "canonical"),
    [
        ("recipient", "Bob <BOB@Example.COM>", "bob@example.com"),
        ("recipient", "*@Example.com", "*@example.com"),
        ("domain", "Docs.Example.ORG", "docs.example.org"),
        ("domain", "*.example.org", "*.example.org"),
        ("repository", "Acme/Site", "acme/site"),
        ("channel", "General", "General"),
    ],
)
def test_values_are_kept_in_the_spelling_that_decisions_use(kind: str, value: str, canonical: str) -> None:
    assert add(kind, value) == (canonical,)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("recipient", "a@example.com, b@example.com"),
        ("recipient", "nobody"),
        ("recipient", "a@127.0.0.1"),
        ("recipient", "a@exa\u200bmple.com"),
        ("domain", "com"),
        ("domain", "*.com"),
        ("domain", "*"),
        ("domain", "127.0.0.1"),
        ("domain", "https://example.com"),
        ("repository", "acme"),
        ("people", "a@example.com"),
        ("path", "/etc"),
    ],
)
def test_a_value_of_another_type_is_refused(kind: str, value: str) -> None:
    with pytest.raises(ListError):
        add(kind, value)


def test_all_bad_values_are_named_at_once() -> None:
    with pytest.raises(SeveralErrors) as caught:
        add("recipient", "one", "two", "ok@example.com")
    assert len(caught.value.errors) == 2


@pytest.mark.parametrize("name", ["Friends", "@friends", "", "a b", "../x"])
def test_a_name_that_is_none(name: str) -> None:
    with pytest.raises(ListError, match="no name"):
        add_values(EMPTY, name, [], NamedList(type="recipient"), REGISTRY)


def test_an_unknown_list_needs_a_type_and_a_known_one_keeps_its_own() -> None:
    with pytest.raises(ListError, match="no list"):
        add_values(EMPTY, "friends", ["a@example.com"], None, REGISTRY)
    known = add_values(EMPTY, "friends", [], NamedList(type="recipient"), REGISTRY).lists
    with pytest.raises(ListError, match="of type"):
        add_values(known, "friends", [], NamedList(type="domain"), REGISTRY)


def test_what_people_removed_stays_removed_and_what_they_added_stays() -> None:
    lists = with_list(
        EMPTY, "friends", NamedList(type="recipient", resolved=("a@example.com", "b@example.com"))
    ).lists
    lists = remove_values(lists, "friends", ["B@example.com"], REGISTRY).lists
    lists = add_values(lists, "friends", ["c@example.com"], None, REGISTRY).lists
    fresh = lists.lists["friends"].model_copy(update={"resolved": ("b@example.com", "d@example.com")})
    edited = with_list(lists, "friends", fresh)
    assert edited.lists.lists["friends"].values == ("c@example.com", "d@example.com")
    assert edited.lines == ("+ d@example.com", "- a@example.com")
    again = add_values(edited.lists, "friends", ["b@example.com"], None, REGISTRY)
    assert again.lines == ("+ b@example.com",)
    assert again.lists.lists["friends"].removed == ()


def test_lists_are_read_from_the_project_or_else_from_what_was_published(tmp_path: Path) -> None:
    own, output = tmp_path / "dynamic-lists.json", tmp_path / "generated"
    assert read_lists(own, output) == EMPTY
    published = add_values(EMPTY, "x", ["a@example.com"], NamedList(type="recipient"), REGISTRY).lists
    write_lists(output / "dynamic-lists.json", published)
    assert read_lists(own, output).lists["x"].values == ("a@example.com",)
    write_lists(own, EMPTY)
    assert read_lists(own, output).lists == {}


def test_comments_of_a_yaml_file_are_not_lost(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="YAML"):
        write_lists(tmp_path / "lists.yaml", EMPTY)
