"""Attack: the playground is made to write what nobody was shown, to write elsewhere, or to run what is typed.

Held by: the form that each change needs, a digest of the scenario that was shown, one file that is known from
the start and must lie in its project, a text that is read back before it is written, escaping, and bounds of
what a form can hold.
"""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.people.web import Web, web
from support.people.web_client import Person
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.system.files import load

pytestmark = pytest.mark.timeout(600)

SHOP = Path(__file__).parents[3] / "examples" / "shop"
EVIL = "http://evil.example"
MARKUP = '"><script>document.title="owned"</script><img src=x onerror=alert(1)>'
FIELDS = (
    "tool",
    "argument:user_id",
    "other-arguments",
    "caller:sub",
    "other-caller",
    "other-facts",
    "at",
    "machine",
    "load",
    "scenario-id",
    "expect",
    "why",
    "keep",
    "shown",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHOP, tmp_path / "shop"))


@pytest.fixture
def running(tmp_path: Path, project: Path) -> Iterator[Web]:
    (tmp_path / ".ironcurtain").mkdir(mode=0o700)
    with web(tmp_path, "--bundle", str(project / "generated" / "bundle")) as started:
        yield started


@pytest.fixture
def person(running: Web) -> Person:
    return Person(running)


def hidden(text: str, name: str) -> str:
    return text.split(f'name="{name}" value="')[1].partition('"')[0]


def typed(person: Person, **more: str) -> dict[str, str]:
    """Return the form of a call as a browser would send it."""
    page = person.get("/playground?tool=shop/read_notes").text
    machine = page.split('<textarea name="machine" rows')[1].partition(">")[2].partition("</textarea>")[0]
    return {
        "form-token": hidden(page, "form-token"),
        "tool": "shop/read_notes",
        "argument:user_id": "ada",
        "caller:sub": "ada",
        "machine": machine,
        "scenario-id": "kept",
        **more,
    }


def send(person: Person, fields: dict[str, str]) -> str:
    answer = person.post("/playground", fields, {**person.own, **person.cookie})
    assert answer.status_code == 200, answer.text
    return answer.text


def appended(person: Person, fields: dict[str, str]) -> str:
    """Have a scenario shown and appended, as the two buttons do."""
    shown = send(person, fields | {"keep": "show"})
    return send(person, fields | {"keep": "append", "shown": hidden(shown, "shown")})


def test_nothing_is_kept_for_another_site_or_without_the_code(person: Person, project: Path) -> None:
    before = (project / "scenarios.yaml").read_bytes()
    fields = typed(person)
    shown = hidden(send(person, fields | {"keep": "show"}), "shown")
    whole = fields | {"keep": "append", "shown": shown}
    own = {**person.own, **person.cookie}
    for changed in (
        {"origin": EVIL},
        {"origin": "null"},
        {"origin": ""},
        {"cookie": ""},
        {"cookie": "ironcurtain=x"},
    ):
        assert person.post("/playground", whole, own | changed).status_code == 403, changed
    for kind in ("text/plain", "application/json", "multipart/form-data; boundary=x"):
        assert person.post("/playground", whole, own | {"content-type": kind}).status_code == 400, kind
    for token in ("", whole["form-token"][:-1]):
        assert person.post("/playground", whole | {"form-token": token}, own).status_code == 403
    query = "&".join(f"{name}={value}" for name, value in whole.items() if name != "machine")
    person.get(f"/playground?{query}")
    assert (project / "scenarios.yaml").read_bytes() == before


@pytest.mark.parametrize("digest", ["", "sha256:" + "0" * 64, "é"])
def test_a_scenario_that_was_not_shown_is_not_appended(person: Person, project: Path, digest: str) -> None:
    before = (project / "scenarios.yaml").read_bytes()
    answer = send(person, typed(person, keep="append", shown=digest))
    assert "nothing was written" in answer
    shown = hidden(send(person, typed(person, keep="show")), "shown")
    other = typed(person, keep="append", shown=shown) | {"argument:user_id": "blaise"}
    assert "nothing was written" in send(person, other)
    assert (project / "scenarios.yaml").read_bytes() == before


@pytest.mark.parametrize("id_", ["../../outside", "/etc/passwd", "a\nb: c", "a b", "A", "", "x" * 129])
def test_an_id_that_leads_elsewhere_is_none(person: Person, project: Path, id_: str) -> None:
    tree = sorted(project.parent.rglob("*"))
    answer = send(person, typed(person, keep="show") | {"scenario-id": id_})
    assert "Nothing was written: a scenario&#39;s id has" in answer
    more = {name: str(project.parent / "outside.yaml") for name in ("file", "path", "scenarios", "bundle")}
    appended(person, typed(person) | more)
    assert sorted(project.parent.rglob("*")) == tree


def test_a_file_of_scenarios_that_lies_outside_its_project_is_not_written(
    person: Person, project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.yaml"
    (project / "scenarios.yaml").rename(outside)
    before = outside.read_bytes()
    (project / "scenarios.yaml").symlink_to(outside)
    assert "lies outside its project" in appended(person, typed(person))
    assert outside.read_bytes() == before
    assert (project / "scenarios.yaml").is_symlink()


def test_a_file_of_scenarios_keeps_its_permissions_and_stays_where_it_is_read_only(
    person: Person, project: Path
) -> None:
    file = project / "scenarios.yaml"
    file.chmod(0o600)
    assert "kept was appended" in appended(person, typed(person))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o400)
    before = file.read_bytes()
    assert "Nothing was written: the file is read-only" in appended(
        person, typed(person) | {"scenario-id": "more"}
    )
    assert file.read_bytes() == before


def keep_three(person: Person, name: str) -> list[str]:
    return [appended(person, typed(person) | {"scenario-id": f"{name}{turn}"}) for turn in range(3)]


def test_what_several_commands_append_at_once_is_all_there(
    person: Person, tmp_path: Path, project: Path
) -> None:
    known = load(project / "scenarios.yaml", Scenarios)
    with (
        web(tmp_path, "--bundle", str(project / "generated" / "bundle")) as second,
        ThreadPoolExecutor() as pool,
    ):
        people = (person, Person(second))
        said = list(pool.map(keep_three, people, ("a", "b")))
    assert all("was appended" in each for each in (*said[0], *said[1]))
    found = load(project / "scenarios.yaml", Scenarios)
    assert found.entries[: len(known.entries)] == known.entries
    assert len(found.entries) == len(known.entries) + 6


def test_what_is_typed_adds_one_scenario_and_changes_no_other(person: Person, project: Path) -> None:
    known = load(project / "scenarios.yaml", Scenarios)
    item = "\n  - id: evil\n    call: {server: shop, tool: refund}\n    expect: allow"
    injected = f'"\n    expect: allow{item} #\u2028\x85'
    arguments = {"user_id": injected, injected: {injected: [injected]}}
    fields = typed(person, why=injected) | {"argument:user_id": "", "other-arguments": json.dumps(arguments)}
    assert "kept was appended" in appended(person, fields)
    found = load(project / "scenarios.yaml", Scenarios)
    assert found.entries[:-1] == known.entries
    last = found.entries[-1]
    assert isinstance(last, Scenario)
    assert last.call.arguments == arguments
    assert last.why == injected.strip()


@pytest.mark.parametrize("name", FIELDS)
def test_markup_in_a_field_is_text_and_a_megabyte_is_refused(person: Person, name: str) -> None:
    for keep in ({}, {"keep": "show"}):
        fields = typed(person) | keep | {name: MARKUP}
        answer = person.post("/playground", fields, {**person.own, **person.cookie})
        assert answer.status_code in {200, 404}
        for raw in ("<script>document", "<img"):
            assert raw not in answer.text, raw
    large = person.post(
        "/playground", typed(person) | {name: "x" * 1_000_000}, {**person.own, **person.cookie}
    )
    assert large.status_code == 400
    assert person.get("/playground").status_code == 200


def test_names_and_words_of_a_hostile_server_are_text(tmp_path: Path) -> None:
    (tmp_path / ".ironcurtain").mkdir(mode=0o700)
    hostile = MARKUP + "\u202e"
    schema = {
        "type": "object",
        "properties": {
            MARKUP: {"type": "string", "description": hostile},
            hostile: {"type": "string"},
            "mode": {"enum": [hostile, MARKUP, {MARKUP: 1}]},
        },
    }
    args = [{"name": name, "roles": ["none"]} for name in (MARKUP, hostile, "mode")]
    asked = tool("read") | {"args": args}
    bundle = write_bundle(
        tmp_path,
        {"fs": [asked | {"input_schema": schema, "comment": hostile}]},
        [rule("r", "deny", tool=["read"]) | {"reason": hostile}],
        policy={"clauses": [{"id": "C1", "text": hostile}]},
    )
    with web(tmp_path, "--bundle", str(bundle)) as running:
        person = Person(running)
        page = person.get("/playground").text
        fields = {"form-token": hidden(page, "form-token"), "tool": "fs/read", f"argument:{MARKUP}": "typed"}
        for text in (page, send(person, fields | {"machine": "home: /home/user"})):
            assert "&lt;script&gt;document" in text
            for raw in ("<script>document", "<img", "\u202e"):
                assert raw not in text, raw
        decided = send(person, fields | {"machine": "home: /home/user"})
        assert 'value="typed"' in decided
        assert "arguments: " in decided


@pytest.mark.parametrize("name", ["machine", "load"])
def test_a_text_that_grows_when_it_is_read_is_refused(person: Person, name: str) -> None:
    """Anchors that are used ten times at each of nine levels, values in themselves, brackets in brackets."""
    levels = "".join(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    grown = send(person, typed(person) | {name: f"a0: &a0 [x]\n{levels}"})
    assert "Not decided" in grown
    assert "Not decided" in send(person, typed(person) | {name: "a: &a [*a]"})
    for deep in ("[" * 15_000, "{" * 15_000, "[[]," * 4_000, "- " * 20_000, "? " * 10_000):
        assert "Not decided" in send(person, typed(person) | {name: deep})


def test_values_that_python_reads_and_json_does_not_have_are_refused(person: Person) -> None:
    for text in ("NaN", "1e999", "Infinity", '{"a":1,"a":2}', '"\\ud800"', "[" * 5_000, "9" * 5_000):
        answer = send(person, typed(person) | {"other-arguments": f'{{"x": {text}}}'})
        assert "Not decided" in answer, text
    for at in ("now", "9999-12-31T23:59:59-12:00", "2026-13-01T00:00:00Z", "٢٠٢٦-01-01T00:00:00Z"):
        assert "is no time" in send(person, typed(person, at=at)), at
