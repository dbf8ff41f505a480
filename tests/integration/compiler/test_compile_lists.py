"""Named lists in a compile: a model says where they stand, the office's real server gives what they hold."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from e2e.program import in_process
from fixtures.tiny_project import tree
from support.projects.modelled import Modelled, Place, Playing, from_kept
from support.projects.office import OFFICE, copy_office
from support.services.model_server import ANTHROPIC

from ironcurtain.errors import Exit

PEOPLE = ("bob@acme.example", "carol@partner.example", "dave@printer.example")
KNOWN = {
    "list": "known",
    "server": "office",
    "tool": "mail_list_sent",
    "arguments": [{"name": "limit", "json": "1000"}],
    "values": "/messages/*/to/*",
}


class Office(Modelled):
    """The office example, with `@known` neither filled nor declared: its rules name it all the same."""

    def __init__(self, place: Place, listed: str) -> None:
        super().__init__(place)
        copy_office(self.directory)
        (self.directory / "office.json").write_text(listed)
        config = json.loads((self.directory / "mcp-servers.json").read_text())
        config["mcpServers"]["office"]["tools"] = "office.json"
        (self.directory / "mcp-servers.json").write_text(json.dumps(config))
        (self.directory / "generated" / "dynamic-lists.json").unlink()
        lists = self.own()
        del lists["known"]
        self.write_own(lists)
        rules = from_kept(OFFICE / "generated" / "answers", "rules")
        self.answers |= {"rules": [rules], "lists": [{"resolved": [KNOWN], "by_hand": []}]}

    def own(self) -> Any:
        return json.loads((self.directory / "dynamic-lists.json").read_text())["lists"]

    def write_own(self, lists: Any) -> None:
        document = {"format": "ironcurtain/lists/v1", "lists": lists}
        (self.directory / "dynamic-lists.json").write_text(json.dumps(document))

    def compile(self, *arguments: str) -> int:
        self.ran = self.run("compile", "--saved-tools", "--model", "m", *arguments)
        return self.ran.code

    def known(self) -> Any:
        return self.published("dynamic-lists.json")["lists"]["known"]


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the tools that the office's server lists."""
    return in_process("tools", "office", cwd=copy_office(tmp_path_factory.mktemp("listed"))).out


@pytest.fixture
def office(place: Place, listed: str) -> Office:
    return Office(place, listed)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a place for the office as it is once `@known` is resolved."""
    return tmp_path_factory.mktemp("kept") / "office"


@pytest.fixture
def resolved(office: Office, kept: Path) -> Office:
    """Return the office with `@known` resolved, by whichever test is the first to need it."""
    if not kept.exists():
        assert office.compile() == 0, office.ran.err
        shutil.copytree(office.directory, kept)
    shutil.copytree(kept, office.directory, dirs_exist_ok=True)
    office.model.requests.clear()
    return office


def test_a_list_that_rules_name_is_resolved_once_and_kept(office: Office) -> None:
    assert office.compile() == 0, office.ran.err
    assert office.calls == {"lists": 1}
    assert tuple(office.known()["resolved"]) == PEOPLE
    assert f"@known holds {', '.join(PEOPLE)}" in office.ran.err
    assert list((office.directory / "generated" / "answers").glob("lists-known-*.json"))
    before = tree(office.directory / "generated")
    assert office.compile() == 0, office.ran.err
    assert office.calls == {}
    assert tree(office.directory / "generated") == before
    (office.directory / "work").mkdir()
    decided = ("decide", "--bundle", "generated/bundle", "--sandbox", "work", "--home", ".")
    for address, code in ((PEOPLE[1], Exit.NEEDS_APPROVAL), ("mallory@evil.example", Exit.NO)):
        arguments = json.dumps({"to": [address], "subject": "s", "body": "b"})
        assert office.run(*decided, "office", "mail_send", arguments).code == code


def test_what_people_add_and_remove_survives_the_next_compile_and_asks_nobody(resolved: Office) -> None:
    office = resolved
    assert office.run("lists", "add", "known", "eve@else.example").code == 0
    assert office.run("lists", "remove", "known", PEOPLE[2]).code == 0
    assert office.compile() == 0, office.ran.err
    assert office.calls == {}
    found = office.known()
    assert (tuple(found["resolved"]), found["added"], found["removed"]) == (
        PEOPLE,
        ["eve@else.example"],
        [PEOPLE[2]],
    )


def test_refreshing_the_stage_asks_and_calls_anew(resolved: Office) -> None:
    office = resolved
    server = office.directory / "server.py"
    server.write_text(server.read_text().replace('"to": ["bob@acme.example"]', '"to": ["new@acme.example"]'))
    assert office.compile() == 0, office.ran.err
    assert (office.calls, tuple(office.known()["resolved"])) == ({}, PEOPLE)
    assert office.compile("--refresh", "lists") == 0, office.ran.err
    assert office.calls == {"lists": 1}
    assert "new@acme.example" in office.known()["resolved"]


def test_a_list_that_no_tool_fills_is_left_to_a_person_and_nothing_is_published(office: Office) -> None:
    before = tree(office.directory / "generated")
    office.answers["lists"] = [{"resolved": [], "by_hand": [{"list": "known", "reason": "nothing fits"}]}]
    assert office.compile() == 2
    assert "rules use @known, which is not resolved: nothing fits" in office.ran.err
    assert "ironcurtain lists add known --type recipient" in office.ran.err
    assert tree(office.directory / "generated") == before
    office.model.requests.clear()
    assert office.run("lists", "add", "known", "--type", "recipient", *PEOPLE).code == 0
    assert office.compile() == 0, office.ran.err
    assert office.calls == {}  # a list is no part of the question about the rules


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tool": "mail_list_inbox", "values": "/messages/*/from"}, "speaks of what was received"),
        ({"tool": "drive_delete"}, "is not one of"),
    ],
)
def test_an_obeyed_injection_fills_no_list(office: Office, changes: dict[str, str], said: str) -> None:
    before = tree(office.directory / "generated")
    office.answers["lists"] = [{"resolved": [{**KNOWN, **changes}], "by_hand": []}]
    assert office.compile() == 3
    assert said in office.ran.err
    assert office.calls == {"lists": 3}
    assert tree(office.directory / "generated") == before


def test_where_nobody_may_be_asked_an_unresolved_list_ends_the_compile(resolved: Office) -> None:
    office = resolved
    (office.directory / "generated" / "dynamic-lists.json").unlink()
    for flag in ("--locked", "--offline"):
        assert office.compile(flag) == 2
        assert "rules use @known, which is not defined" in office.ran.err
        assert office.calls == {}


def test_a_refusal_keeps_the_paid_answers(office: Office) -> None:
    office.answers["lists"] = [Playing(ANTHROPIC.answer("", "refusal")), {"resolved": [KNOWN], "by_hand": []}]
    assert office.compile() == 3
    assert "error[IC3301]: question lists: the model refused" in office.ran.err
    assert office.compile() == 0, office.ran.err
    assert office.calls == {"lists": 2}


def test_a_refresh_by_a_model_says_what_it_cost_and_keeps_to_a_budget(office: Office) -> None:
    asked = (
        "lists",
        "refresh",
        "known",
        "--type",
        "recipient",
        "--clause",
        "C5",
        "--model",
        "m",
        "--dry-run",
    )
    refused = office.run(*asked, "--max-cost", "1")
    assert refused.code == 3
    assert "nobody knows what anthropic:m costs" in refused.err
    assert office.calls == {}
    paid = office.run(*asked)
    assert paid.code == 0, paid.err
    assert "model: 1 call, 1,000 + 200 tokens, cost unknown" in paid.err
    assert office.calls == {"lists": 1}
