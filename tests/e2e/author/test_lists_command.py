"""`ironcurtain lists`, on the office example: once with its own server, as a program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Inside, program
from fixtures.tiny_project import answer, tree
from support.projects.office import OFFICE, copy_office


@pytest.fixture
def office(tmp_path: Path) -> Path:
    return copy_office(tmp_path / "office")


def resolved(**changes: Any) -> dict[str, Any]:
    arguments = [{"name": "limit", "json": "1000"}]
    entry = {
        "list": "known",
        "server": "office",
        "tool": "mail_list_sent",
        "arguments": arguments,
        "values": "/messages/*/to/*",
    }
    return {"resolved": [{**entry, **changes}], "by_hand": []}


def members(inside: Inside, project: Path, name: str) -> list[str]:
    shown = inside("lists", "show", name, "--format", "json", cwd=project)
    found = json.loads(shown.out)["lists"][name]
    return sorted({*(found.get("resolved") or ()), *found["added"]} - {*found["removed"]})


def test_what_is_done_by_hand_survives_a_refresh_from_the_examples_own_server(
    tmp_path: Path, inside: Inside
) -> None:
    office = Path(shutil.copytree(OFFICE, tmp_path / "office"))
    servers = json.loads((office / "mcp-servers.json").read_text())
    servers["mcpServers"]["office"]["sandbox"] = False
    (office / "mcp-servers.json").write_text(json.dumps(servers))
    assert inside("lists", "remove", "known", "Dave <dave@printer.example>", cwd=office).code == 0
    assert inside("lists", "add", "known", "eve@else.example", cwd=office).code == 0
    ended = program("lists", "refresh", cwd=office)
    assert ended.code == 0, ended.err
    left = ["bob@acme.example", "carol@partner.example", "eve@else.example"]
    assert members(inside, office, "known") == left
    text = inside("lists", "show", cwd=office).out
    assert "eve@else.example  added by hand" in text
    assert "(dave@printer.example  removed by hand)" in text


def test_a_new_list_is_asked_about_and_resolved(office: Path, inside: Inside) -> None:
    first = inside("lists", "refresh", "copied", "--type", "recipient", "--clause", "C5", cwd=office)
    assert (first.code, first.codes) == (4, ["IC4001"])
    answer(office, "lists", resolved(list="copied", values="/messages/*/cc/*"))
    second = inside("lists", "refresh", "copied", "--type", "recipient", "--clause", "C5", cwd=office)
    assert second.code == 0, second.err
    assert members(inside, office, "copied") == ["bob@acme.example", "mia@acme.example"]
    assert not (office / "questions").exists()


def test_people_never_come_from_the_inbox_nor_from_a_tool_that_acts(office: Path, inside: Inside) -> None:
    before = tree(office)
    again = ("lists", "refresh", "known", "--ask-again")
    assert inside(*again, cwd=office).code == 4
    for changes, said in (
        ({"tool": "mail_list_inbox", "values": "/messages/*/from"}, "what was received"),
        ({"tool": "mail_send"}, "is not one of"),
        ({"tool": "drive_delete"}, "is not one of"),
    ):
        answer(office, "lists", resolved(**changes))
        ended = inside(*again, cwd=office)
        assert ended.code == 4
        assert said in ended.err
        left = {name: data for name, data in tree(office).items() if not name.startswith("questions/")}
        assert left == before


def test_a_tool_that_nobody_confirmed_is_not_called(office: Path, inside: Inside) -> None:
    shutil.rmtree(office / "generated")
    lists = json.loads((office / "dynamic-lists.json").read_text())
    lists["lists"]["known"]["resolution"]["confirmed"] = False
    (office / "dynamic-lists.json").write_text(json.dumps(lists))
    ended = inside("lists", "refresh", "known", cwd=office)
    assert ended.code == 4
    assert "--confirm office/mail_list_sent" in ended.err
    assert inside("lists", "refresh", "known", "--confirm", "office/mail_list_sent", cwd=office).code == 0


def test_a_tool_that_changed_is_not_called_again_unseen(office: Path, inside: Inside) -> None:
    server = office / "server.py"
    server.write_text(server.read_text().replace("List the messages sent", "List all messages"))
    ended = inside("lists", "refresh", cwd=office)
    assert ended.code == 2
    assert "is not as it was" in ended.err


def test_a_server_that_returns_patterns_fills_nothing(office: Path, inside: Inside) -> None:
    server = office / "server.py"
    server.write_text(server.read_text().replace('"to": ["bob@acme.example"]', '"to": ["*@evil.example"]'))
    ended = inside("lists", "refresh", cwd=office)
    assert ended.code == 0, ended.err
    assert "passed over" in ended.out
    assert members(inside, office, "known") == ["carol@partner.example", "dave@printer.example"]


def test_a_dry_run_writes_nothing(office: Path, inside: Inside) -> None:
    before = tree(office)
    assert inside("lists", "refresh", "--dry-run", cwd=office).code == 0
    assert tree(office) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "friends", "a@x.example"), "no list"),
        (("add", "friends"), "nothing to add"),
        (("add", "known", "--type", "domain", "x.example"), "of type"),
        (("add", "known", "a@x.example, b@x.example"), "not exactly one"),
        (("add", "x", "--type", "people", "a@x.example"), "no list type"),
        (("remove", "friends", "a@x.example"), "no list"),
        (("show", "friends"), "no list"),
    ],
)
def test_mistakes_change_nothing(office: Path, inside: Inside, arguments: tuple[str, ...], said: str) -> None:
    before = tree(office)
    ended = inside("lists", *arguments, cwd=office)
    assert ended.code == 2
    assert said in ended.err
    assert tree(office) == before


def test_a_policy_that_names_an_unresolved_list_is_not_published(office: Path, inside: Inside) -> None:
    lists = json.loads((office / "dynamic-lists.json").read_text())
    del lists["lists"]["known"]["resolved"]
    (office / "dynamic-lists.json").write_text(json.dumps(lists))
    before = tree(office / "generated")
    ended = inside("compile", "--locked", cwd=office)
    assert (ended.code, ended.codes) == (2, ["IC1203"])
    assert "lists refresh known --type recipient" in ended.err
    assert tree(office / "generated") == before
