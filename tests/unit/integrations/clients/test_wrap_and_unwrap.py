"""Properties over the corpus: nothing is lost, nothing changed twice, and what is written was meant."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from support.deployments.wrapped import COMMAND, CORPUS, FILES, copied, read_as_an_editor, servers_of, text_of

from ironcurtain.errors import UsageError
from ironcurtain.integrations.clients.report import ClientReport
from ironcurtain.integrations.clients.target import ConfigLocation
from ironcurtain.integrations.clients.unwrap import restore, unwrap
from ironcurtain.integrations.clients.wrap import ProxyCommand, wrap
from ironcurtain.servers.config import load_servers
from ironcurtain.system.structs import replace

OTHER = ProxyCommand(COMMAND.program, ("--bundle", "/etc/other"))
SEARCH = "/usr/bin:/bin"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("IRONCURTAIN_HOME", raising=False)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def wrapped(place: ConfigLocation, command: ProxyCommand = COMMAND, *only: str) -> ClientReport:
    return wrap(place, command, search_path=SEARCH, only=only)


def kept(home: Path) -> list[str]:
    return sorted(path.name for path in (home / ".ironcurtain").rglob("*") if path.is_file())


@pytest.mark.parametrize("name", FILES)
def test_wrap_and_unwrap_give_the_same_bytes_and_nothing_stays(name: str, tmp_path: Path, home: Path) -> None:
    place = copied(name, tmp_path)
    place.path.chmod(0o640)
    report = wrapped(place)
    assert report.status == "wrapped"
    assert place.path.read_bytes() != (CORPUS / name).read_bytes()
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o640
    modes = {path.stat().st_mode & 0o077 for path in (home / ".ironcurtain" / "clients").rglob("*/*")}
    assert modes == {0}
    assert unwrap(place).status == "unwrapped"
    assert place.path.read_bytes() == (CORPUS / name).read_bytes()
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o640
    assert [each for each in kept(home) if not each.endswith(".lock")] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["home", name])


@pytest.mark.parametrize("name", FILES)
def test_wrapping_twice_is_wrapping_once(name: str, tmp_path: Path, home: Path) -> None:
    place = copied(name, tmp_path)
    wrapped(place)
    once, files, inode = place.path.read_bytes(), kept(home), place.path.stat().st_ino
    again = wrapped(place)
    assert (again.status, place.path.read_bytes(), kept(home)) == ("unchanged", once, files)
    assert place.path.stat().st_ino == inode
    assert wrapped(place, OTHER).status == "wrapped"
    assert wrapped(place).status == "wrapped"
    assert place.path.read_bytes() == once
    unwrap(place)
    assert unwrap(place).status == "unchanged"
    assert place.path.read_bytes() == (CORPUS / name).read_bytes()


def test_the_client_finds_one_server_and_all_else_as_it_was(tmp_path: Path) -> None:
    places = [copied(name, tmp_path) for name in FILES]
    before = [text_of(place.path) for place in places]
    reports = [wrapped(place) for place in places]
    after = [text_of(place.path) for place in places]
    values = read_as_an_editor([*before, *after])
    assert not any("errors" in found for found in values)
    single = 0
    for report, old, new in zip(reports, values[: len(places)], values[len(places) :], strict=True):
        was, now = servers_of(old["value"]), servers_of(new["value"])
        left = {each.name: was[each.name] for each in report.left}
        assert now == {**left, "ironcurtain": report.entry}
        assert set(was) == {*report.moved, *left}
        was.clear()
        now.clear()
        assert old == new
        single += not left
        assert set(load_servers(Path(report.servers or "")).servers) == set(report.moved)
    assert single >= 10


@pytest.mark.parametrize("name", FILES)
def test_a_strict_file_stays_strict_and_comments_and_line_ends_stay(name: str, tmp_path: Path) -> None:
    place = copied(name, tmp_path)
    before = place.path.read_bytes()
    wrapped(place)
    after = place.path.read_bytes()
    if name.startswith(("claude-", "windsurf", "cline", "vscode-user")):
        json.loads(before.decode("utf-8-sig"))
        json.loads(after.decode("utf-8-sig"))
    assert before.startswith(b"\xef\xbb\xbf") == after.startswith(b"\xef\xbb\xbf")
    assert (b"\r\n" in before) == (b"\r\n" in after)
    assert after.count(b"\n") - after.count(b"\r\n") == 0 or b"\r\n" not in before
    for comment in (
        b"// one server for all of us",
        b"// the end",
        b"/* after */",
        b"// last one",
        b"// remote",
    ):
        assert (comment in before) == (comment in after)


@pytest.mark.parametrize("name", FILES)
def test_what_others_change_outside_the_servers_stays(name: str, tmp_path: Path) -> None:
    place = copied(name, tmp_path)
    original = text_of(place.path)
    wrapped(place)

    def edited(text: str) -> bytes:
        brace = text.index("{")
        return (text[: brace + 1] + '"lastUpdateCheck": 185, ' + text[brace + 1 :] + "\n\n").encode()

    place.path.write_bytes(edited(text_of(place.path)))
    report = unwrap(place)
    assert report.status == "unwrapped"
    assert place.path.read_bytes() == edited(original)


def test_a_server_that_was_added_meanwhile(tmp_path: Path) -> None:
    places = [copied(name, tmp_path) for name in FILES]
    before = [text_of(place.path) for place in places]
    for place in places:
        first = wrapped(place)
        text = text_of(place.path)
        at = text.index('"ironcurtain"')
        place.path.write_text(text[:at] + '"added": {"command": "true"}, ' + text[at:], newline="")
        assert set(wrapped(place).moved) == {*first.moved, "added"}
        unwrap(place)
    values = read_as_an_editor([*before, *(text_of(place.path) for place in places)])
    for was, now in zip(values[: len(places)], values[len(places) :], strict=True):
        servers_of(was["value"])["added"] = {"command": "true"}
        assert now == was


def test_an_edited_entry_is_kept_aside_and_the_servers_come_back(tmp_path: Path) -> None:
    place = copied("claude-desktop-two.json", tmp_path)
    wrapped(place)
    text = place.path.read_text().replace('"proxy",', '"proxy", "--observe",')
    place.path.write_text(text)
    report = unwrap(place)
    assert place.path.read_bytes() == (CORPUS / "claude-desktop-two.json").read_bytes()
    (copy,) = report.kept
    assert Path(copy).read_text() == text
    assert stat.S_IMODE(Path(copy).stat().st_mode) == 0o600


def test_what_people_wrote_into_the_proxys_servers_survives(tmp_path: Path) -> None:
    place = copied("claude-desktop-two.json", tmp_path)
    servers = Path(wrapped(place).servers or "")
    document = json.loads(servers.read_text())
    document["mcpServers"]["git"]["workingRoot"] = "/Users/ann/src"
    servers.write_text(json.dumps(document))
    again = Path(wrapped(place, OTHER).servers or "")
    assert json.loads(again.read_text()) == document
    (copy,) = unwrap(place).kept
    assert json.loads(Path(copy).read_text()) == document
    assert place.path.read_bytes() == (CORPUS / "claude-desktop-two.json").read_bytes()


def test_an_entry_taken_out_by_hand_is_not_guessed_about(tmp_path: Path) -> None:
    place = copied("claude-desktop-two.json", tmp_path)
    wrapped(place)
    by_hand = b'{"mcpServers": {}, "mine": true}'
    place.path.write_bytes(by_hand)
    with pytest.raises(UsageError, match="by hand"):
        unwrap(place)
    assert place.path.read_bytes() == by_hand
    (copy,) = restore(place).kept
    assert Path(copy).read_bytes() == by_hand
    assert place.path.read_bytes() == (CORPUS / "claude-desktop-two.json").read_bytes()


def test_a_server_that_came_back_is_not_overwritten(tmp_path: Path) -> None:
    place = copied("claude-desktop-two.json", tmp_path)
    wrapped(place)
    text = place.path.read_text().replace('"ironcurtain"', '"git": {"command": "mine"}, "ironcurtain"')
    place.path.write_text(text)
    for attempt in (unwrap, wrapped):
        with pytest.raises(UsageError, match="stand in the file again: git"):
            attempt(place)
    assert place.path.read_text() == text


def test_a_file_that_is_gone_can_be_restored(tmp_path: Path) -> None:
    place = copied("claude-desktop-two.json", tmp_path)
    place.path.chmod(0o600)
    wrapped(place)
    place.path.unlink()
    restore(place)
    assert place.path.read_bytes() == (CORPUS / "claude-desktop-two.json").read_bytes()
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o600


def test_only_some_servers(tmp_path: Path) -> None:
    found: list[tuple[str, ClientReport]] = []
    for name in FILES:
        for chosen in wrap(copied(name, tmp_path), COMMAND, search_path=SEARCH, dry_run=True).moved:
            place = copied(name, tmp_path)
            report = wrapped(place, COMMAND, chosen)
            assert report.moved == (chosen,)
            assert not any(left.outside for left in report.left)
            found.append((text_of(place.path), report))
            unwrap(place)
            assert place.path.read_bytes() == (CORPUS / name).read_bytes()
    assert len(found) > len(FILES)
    for (_, report), value in zip(found, read_as_an_editor([text for text, _ in found]), strict=True):
        left = {each.name for each in report.left}
        assert set(servers_of(value["value"])) == {"ironcurtain", *left}
        assert servers_of(value["value"])["ironcurtain"] == report.entry


def test_a_link_stays_and_its_target_is_rewritten(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    place = copied("claude-code-user.json", tmp_path / "dotfiles")
    for name, to in (("second", place.path), ("first", Path("second"))):
        (tmp_path / name).symlink_to(to)
    linked = replace(place, path=tmp_path / "first")
    wrapped(linked)
    assert (tmp_path / "first").readlink() == Path("second")
    assert b"ironcurtain" in place.path.read_bytes()
    assert not place.path.is_symlink()
    assert wrapped(place).moved == ("context7",)
    unwrap(linked)
    assert (tmp_path / "first").readlink() == Path("second")
    assert place.path.read_bytes() == (CORPUS / "claude-code-user.json").read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_stays(tmp_path: Path) -> None:
    place = copied("cursor-user.json", tmp_path)
    os.chown(place.path, 12345, 23456)
    for act in (wrapped, unwrap):
        act(place)
        assert (place.path.stat().st_uid, place.path.stat().st_gid) == (12345, 23456)


@pytest.mark.parametrize("name", FILES)
def test_a_dry_run_writes_nothing_at_all(name: str, tmp_path: Path, home: Path) -> None:
    place = copied(name, tmp_path)
    report = wrap(place, COMMAND, search_path=SEARCH, dry_run=True)
    assert report.status == "would-wrap"
    assert (place.path.read_bytes(), kept(home)) == ((CORPUS / name).read_bytes(), [])
    assert "\n+" in report.diff
    real = wrapped(place)
    assert (real.entry, real.diff) == (report.entry, "")
    undo = unwrap(place, dry_run=True)
    assert undo.status == "would-unwrap"
    assert sorted(line[1:] for line in undo.diff.split("\n")[2:] if line[:1] == "+") == sorted(
        line[1:] for line in report.diff.split("\n")[2:] if line[:1] == "-"
    )


def test_a_dry_run_shows_no_secret(tmp_path: Path) -> None:
    place = copied("cursor-user.json", tmp_path)
    secrets = {
        "env": {"HUB_PAT": "pat-0123456789", "DB_PASS": "pass-0123456789"},
        "headers": {"Authorization": "Bearer auth-0123456789"},
        "args": ["hub", "--api-key", "flag-0123456789", "--db", "pg://me:addr-0123456789@h/x"],
    }
    place.path.write_text(json.dumps({"mcpServers": {"hub": {"command": "true", **secrets}}}, indent=2))
    report = wrap(place, COMMAND, search_path=SEARCH, dry_run=True)
    assert "0123456789" not in report.model_dump_json()
    assert report.diff.count("[redacted]") == 5
    wrapped(place)
    assert "0123456789" not in unwrap(place, dry_run=True).model_dump_json()
