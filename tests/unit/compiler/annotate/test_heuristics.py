"""Arguments that look like resources but carry no such role."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.compiler.annotate.heuristics import check_heuristics, heuristic_notes
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import UnconfirmedArgumentError
from ironcurtain.model.annotations import Annotations


def annotated(
    name: str, schema: dict[str, Any], roles: list[str] | None = None, flags: Any = None, **more: Any
) -> Annotations:
    tool = {
        "tool": "t",
        "side_effects": True,
        "input_schema": {"type": "object", "properties": {name: schema}},
        "args": [{"name": name, "roles": roles or ["none"], **(flags or {})}],
        **more,
    }
    document = {"format": "ironcurtain/annotations/v1", "servers": {"s": {"tools": [tool]}}}
    return Annotations.model_validate_json(json.dumps(document))


def check(name: str, schema: dict[str, Any], roles: list[str] | None = None, **more: Any) -> list[str]:
    errors = check_heuristics(annotated(name, schema, roles, **more), Registry())
    assert all(isinstance(error, UnconfirmedArgumentError) for error in errors)
    return [error.what for error in errors]


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("path", TEXT),
        ("filePath", TEXT),
        ("worktreePath", TEXT),
        ("output_dir", TEXT),
        ("files", {"type": "array", "items": TEXT}),
        ("targetURL", TEXT),
        ("webhook", {"type": ["string", "null"]}),
        ("cc", {"type": "array", "items": TEXT}),
        ("x", {"type": "string", "default": "/etc/hosts"}),
        ("x", {"type": "string", "default": "."}),
        ("x", {"type": "string", "examples": ["https://example.com/a"]}),
        ("x", {"type": "string", "examples": ["git@example.com:a/b.git"]}),
        ("x", {"type": "string", "examples": ["bob@example.com"]}),
        ("x", {"type": "string", "description": "The file path to open"}),
        ("x", {"type": "array", "description": "List of e-mail addresses"}),
        ("x", {"type": "array", "items": {"type": "string", "description": "Path to the file."}}),
        ("x", {"type": "string", "description": "The name of the file to create."}),
        ("x", {"type": "string", "description": "Content file to read"}),
        ("x", {"type": "string", "description": "The content, or the path to a file with it."}),
        ("x", {"type": "string", "description": "The IBAN of the recipient."}),
        ("content_path", TEXT),
        ("path", {}),
        ("path", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("path", {"anyOf": [{"enum": ["a"]}, {"type": "string"}]}),
    ],
)
def test_what_looks_like_a_resource(name: str, schema: dict[str, Any]) -> None:
    assert len(check(name, schema)) == 1
    assert check(name, schema, ["read-path"]) == []


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("content", TEXT),
        ("pattern", TEXT),
        ("profile", TEXT),
        ("path", {"type": "boolean"}),
        ("head", {"type": "number"}),
        ("file", {"type": "string", "enum": ["a", "b"]}),
        ("message", {"type": "string", "description": "Commit message."}),
        ("content", {"type": "string", "description": "The content of the file to create."}),
        ("new_text", {"type": "string", "description": "Full text of the file to write"}),
        ("body", {"type": "string", "description": "Body of the mail that the recipients read."}),
        ("file_content", TEXT),
        ("emailSubject", TEXT),
        ("link_text", TEXT),
        ("fileKey", TEXT),
        ("email_ids", TEXT),
    ],
)
def test_what_does_not(name: str, schema: dict[str, Any]) -> None:
    assert check(name, schema) == []


def test_a_person_can_confirm_with_a_reason() -> None:
    confirmed = [{"arg": "path", "by": "kim", "reason": "It is a path in a diagram."}]
    assert check("path", TEXT, confirmed=confirmed) == []


def test_what_a_role_is_proposed_for_is_never_to_be_called_nothing() -> None:
    """`send_money` was to be confirmed as a tool whose recipient is none."""
    annotations = annotated("recipient", {"type": "string", "description": "IBAN of the recipient"})
    assert check_heuristics(annotations, Registry(), {("s", "t", "recipient")}) == []
    assert len(check_heuristics(annotations, Registry(), {("s", "t", "subject")})) == 1


def test_places_inside_objects_are_looked_at() -> None:
    schema = {"type": "array", "items": {"type": "object", "properties": {"path": TEXT, "text": TEXT}}}
    (said,) = check("changes", schema)
    assert "/changes/*/path" in said


LISTS = ["Comma-separated list of addresses", "JSON array of paths", "Paths as JSON", "comma separated"]


@pytest.mark.parametrize("description", LISTS)
@pytest.mark.parametrize("kind", ["string", ["string", "null"]])
def test_several_values_in_one_string_need_a_codec_or_a_person(description: str, kind: Any) -> None:
    schema = {"type": kind, "description": description}
    (said,) = check("x", schema, ["read-path"])
    assert "seems to hold several values" in said
    assert check("x", schema, ["read-path"], flags={"codec": "json-or-comma"}) == []
    assert check("x", schema, ["read-path"], confirmed=[{"arg": "x", "by": "kim", "reason": "one"}]) == []
    assert check("x", {**schema, "type": "array"}, ["read-path"]) == []


@pytest.mark.parametrize(
    ("description", "value"),
    [
        ("Remote name (default: origin).", "origin"),
        ("Defaults to `origin`.", "`origin`"),
        ("The default is origin, as in git", "origin"),
        ("default value = origin", "origin"),
    ],
)
def test_a_default_that_only_the_description_states_is_told(description: str, value: str) -> None:
    schema = {"type": "string", "description": description}
    (note,) = heuristic_notes(annotated("remote", schema, ["git-remote-url"]), Registry())
    assert f'said to default to "{value}"' in note
    for harmless in (
        annotated("remote", {**schema, "default": "origin"}, ["git-remote-url"]),
        annotated("remote", schema, ["git-remote-url"], {"required": True}),
        annotated("remote", schema, ["none"]),
        annotated("remote", {"type": "string", "description": "By default all."}, ["git-remote-url"]),
    ):
        assert heuristic_notes(harmless, Registry()) == []


@pytest.mark.parametrize(
    ("name", "description", "language"),
    [
        ("sql", "", "SQL"),
        ("query", "A SQL query to run", "SQL"),
        ("jql", "", "JQL"),
        ("filter", "Restrict by JQL", "JQL"),
        ("command", "", "a shell command"),
        ("input", "The shell command to execute", "a shell command"),
        ("function", "JavaScript function to evaluate", "program code"),
        ("criteria", "IMAP search criteria", "IMAP"),
        ("query", "Words to look for", None),
        ("message", "Commit message", None),
    ],
)
def test_languages_are_told(name: str, description: str, language: str | None) -> None:
    notes = heuristic_notes(annotated(name, {"type": "string", "description": description}), Registry())
    assert [f"holds {language}," in note for note in notes] == [True] * (language is not None)


def test_a_closed_choice_is_no_language() -> None:
    schema = {"type": "string", "enum": ["start", "stop"]}
    assert heuristic_notes(annotated("command", schema), Registry()) == []
