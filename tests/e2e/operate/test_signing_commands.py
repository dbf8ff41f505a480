"""Keys, signed compiles, verification and publishing, as people type them."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from e2e.program import SHIPPED, Inside, assert_clear, program
from support.records.signing import with_serial
from support.services.bundle_server import Held, bundle_server

from ironcurtain.bundle.archive import Bundle
from ironcurtain.cli.options.signing import chosen_signer

CALL = ("filesystem", "read_text_file", '{"path": "notes.txt"}')
SIGNED = "generated/bundle.signed.tar.gz"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory of the user's own."""
    monkeypatch.setenv("IRONCURTAIN_HOME", str(tmp_path / "own"))
    return tmp_path / "own"


@pytest.fixture
def server() -> Iterator[Held]:
    with bundle_server() as held:
        yield held


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a key pair in `own` and a signed archive of the shipped rules beside it, once."""
    directory = tmp_path_factory.mktemp("release")
    own = str(directory / "own")
    assert program("key", "new", IRONCURTAIN_HOME=own).code == 0
    ended = program(*building(directory / "bundle.signed.tar.gz", 3), "--sign", IRONCURTAIN_HOME=own)
    assert ended.code == 0, ended.err
    return directory


@pytest.fixture
def signed(release: Path, home: Path) -> Path:
    """Return the signed archive, and put its keys into `home`."""
    shutil.copytree(release / "own", home)
    return release / "bundle.signed.tar.gz"


def building(output: Path, serial: int) -> list[str]:
    """Return the command that builds the shipped rules."""
    generated = SHIPPED.parent
    rules = ["--policy", str(generated / "compiled-policy.json")]
    annotations = ["--annotations", str(generated / "tool-annotations.json")]
    return ["bundle", *rules, *annotations, "--serial", str(serial), "-o", str(output)]


def released(directory: Path, serial: int, home: Path) -> Path:
    """Publish the shipped policy under a serial number, signed with the key in `home`; return the archive."""
    bundle = with_serial(Bundle.read(SHIPPED), serial)
    for name, data in bundle.files.items():
        (directory / "bundle" / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / "bundle" / name).write_bytes(data)
    shutil.copy(SHIPPED.parent / "test-scenarios.json", directory)
    signer = chosen_signer(sign=True, key=str(home / "signing-key.pem"))
    assert signer is not None
    archive = directory / "bundle.signed.tar.gz"
    archive.write_bytes(signer(bundle).archive())
    return archive


def test_a_new_key_and_what_is_shown_of_it(inside: Inside, home: Path) -> None:
    made = inside("key", "new")
    assert (made.code, made.err) == (0, "")
    private, public = home / "signing-key.pem", home / "signing-key.pub.pem"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert "PRIVATE" not in made.out
    shown = json.loads(inside("key", "show", "--format", "json").out)
    assert shown["algorithm"] == "ES256"
    assert shown["id"] in made.out
    assert json.loads(inside("key", "show", "--key", str(public), "--format", "json").out) == shown
    assert inside("key", "public").out == public.read_text()
    for_opa = json.loads(inside("key", "public", "--format", "json").out)
    assert for_opa == {shown["id"]: {"algorithm": "ES256", "key": public.read_text()}}


def test_a_second_key_does_not_replace_the_first(inside: Inside, home: Path) -> None:
    inside("key", "new")
    before = (home / "signing-key.pem").read_bytes()
    assert_clear(inside("key", "new"), 2, "IC1002")
    assert (home / "signing-key.pem").read_bytes() == before


def test_without_a_key_nothing_is_built(inside: Inside, home: Path, tmp_path: Path) -> None:
    assert not home.exists()
    assert_clear(inside(*building(tmp_path / "b.tar.gz", 1), "--sign"), 2, "IC1002")
    assert not (tmp_path / "b.tar.gz").exists()


def test_a_key_that_signs_nothing_is_a_mistake(inside: Inside, signed: Path, tmp_path: Path) -> None:
    key = str(signed.parent / "own" / "signing-key.pem")
    assert_clear(inside(*building(tmp_path / "b.tar.gz", 1), "--key", key), 2, "IC1001")
    assert inside(*building(tmp_path / "b.tar.gz", 1), "--key", key, "--sign").code == 0


def test_a_signed_bundle_is_an_archive(inside: Inside, signed: Path, tmp_path: Path) -> None:
    assert signed.exists()
    assert_clear(inside(*building(tmp_path / "directory", 1), "--sign"), 2, "IC1001")


def test_decide_with_a_key(inside: Inside, home: Path, signed: Path, tmp_path: Path) -> None:
    public = str(home / "signing-key.pub.pem")
    (tmp_path / "work").mkdir()
    site = ("--sandbox", str(tmp_path / "work"), "--home", str(home))
    ended = inside("decide", "--bundle", str(signed), "--verify-key", public, *site, *CALL)
    assert (ended.code, ended.err) == (0, "")
    older = inside(
        "decide", "--bundle", str(signed), "--verify-key", public, "--min-serial", "4", *site, *CALL
    )
    assert_clear(older, 3, "IC3103")
    assert_clear(
        inside("decide", "--bundle", str(SHIPPED), "--verify-key", public, *site, *CALL), 3, "IC3103"
    )
    assert_clear(inside("decide", "--bundle", str(signed), "--min-serial", "1", *site, *CALL), 2, "IC1001")
    private = str(home / "signing-key.pem")
    assert_clear(
        inside("decide", "--bundle", str(signed), "--verify-key", private, *site, *CALL), 2, "IC1003"
    )


def test_the_note_on_an_unsigned_bundle_is_one_short_line(inside: Inside, tmp_path: Path) -> None:
    ended = inside("decide", "--bundle", str(SHIPPED), "--sandbox", str(tmp_path), *CALL)
    assert ended.code == 0
    assert ended.err == "note: the bundle is unsigned; see --verify-key\n"


@pytest.mark.parametrize("command", ["verify", "input", "matrix"])
def test_other_commands_with_a_key(command: str, inside: Inside, home: Path, signed: Path) -> None:
    public = str(home / "signing-key.pub.pem")
    called = {"input": ["--bundle", str(SHIPPED), *CALL]}
    named = [command, *called.get(command, [str(SHIPPED)])]
    assert_clear(inside(*named, "--verify-key", public), 3, "IC3103")
    named = [str(signed) if each == str(SHIPPED) else each for each in named]
    assert_clear(inside(*named, "--verify-key", public, "--min-serial", "4"), 3, "IC3103")


def accept_findings(inside: Inside, project: Path) -> None:
    """Waive what stands out in a project, which is not what these tests are about."""
    found = json.loads(inside("findings", "--format", "json", cwd=project).out)["findings"]
    later = (datetime.now(UTC).date() + timedelta(days=30)).isoformat()
    waivers = [{"id": each["id"], "reason": "a test", "expires": later} for each in found]
    document = {"format": "ironcurtain/waivers/v1", "waivers": waivers}
    (project / "waivers.yaml").write_text(json.dumps(document))


def test_a_signed_compile_and_its_verification(inside: Inside, home: Path, project: Path) -> None:
    accept_findings(inside, project)
    assert inside("key", "new", cwd=project).code == 0
    public = str(home / "signing-key.pub.pem")
    compiled = ("compile", "--locked", "--saved-tools", "-q")
    assert inside(*compiled, cwd=project).code == 0
    unsigned = {path.name: path.read_bytes() for path in (project / "generated").iterdir() if path.is_file()}
    assert inside(*compiled, "--sign", cwd=project).code == 0
    first = (project / SIGNED).read_bytes()
    assert inside(*compiled, "--sign", cwd=project).code == 0
    assert (project / SIGNED).read_bytes() == first
    both = {path.name: path.read_bytes() for path in (project / "generated").iterdir() if path.is_file()}
    assert {name for name in both if both[name] != unsigned.get(name)} == {
        "bundle.signed.tar.gz",
        "provenance.json",
    }
    about = json.loads(both["provenance.json"])
    assert [each["name"] for each in about["subject"]] == ["bundle.signed.tar.gz", "bundle.tar.gz"]
    verified = inside("verify", SIGNED, "--verify-key", public, "--min-serial", "3", cwd=project)
    assert verified.code == 0, verified.out + verified.err
    assert_clear(inside("verify", SIGNED, "--verify-key", public, "--min-serial", "4"), 3, "IC3103")
    assert_clear(inside("verify", "generated/bundle", "--verify-key", public), 3, "IC3103")
    # A compile without a key leaves no signature of an earlier one behind.
    assert inside(*compiled, cwd=project).code == 0
    assert not (project / SIGNED).exists()


def test_publish_into_a_directory(inside: Inside, home: Path, signed: Path, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    signed = released(tmp_path / "newer", 3, home)
    first = inside("publish", str(shelf), "--bundle", str(signed))
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("published serial 3, revision sha256:")
    assert (shelf / "bundle.tar.gz").read_bytes() == signed.read_bytes()
    again = inside("publish", str(shelf), "--bundle", str(signed), "--format", "json")
    assert json.loads(again.out)["published"] is False
    older = released(tmp_path / "older", 2, home)
    assert_clear(inside("publish", str(shelf), "--bundle", str(older)), 3, "IC3401")
    assert (shelf / "bundle.tar.gz").read_bytes() == signed.read_bytes()


def test_publish_to_a_server(inside: Inside, home: Path, signed: Path, server: Held, tmp_path: Path) -> None:
    server.token = "s3cret"
    signed = released(tmp_path / "release", 3, home)
    publish = ("publish", server.url, "--bundle", str(signed))
    assert_clear(inside(*publish), 3, "IC3401")
    (tmp_path / "token").write_text("s3cret\n")
    ended = inside(*publish, "--token-file", str(tmp_path / "token"))
    assert (ended.code, ended.err) == (0, "")
    assert "s3cret" not in ended.out
    assert server.content == signed.read_bytes()


@pytest.mark.parametrize("token", ["", "two words", "new\x00line", "caf\u00e9"])
def test_a_file_that_holds_no_token(
    token: str, inside: Inside, signed: Path, server: Held, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(token)
    ended = inside("publish", server.url, "--bundle", str(signed), "--token-file", str(tmp_path / "token"))
    assert (ended.code, server.requests) == (2, [])


def test_only_what_the_key_signed_is_published(inside: Inside, signed: Path, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    unsigned = SHIPPED.parent / "bundle.tar.gz"
    assert_clear(inside("publish", str(shelf), "--bundle", str(unsigned)), 3, "IC3103")
    assert inside("key", "new", "-o", str(tmp_path / "other.pem")).code == 0
    other = str(tmp_path / "other.pub.pem")
    ended = inside("publish", str(shelf), "--bundle", str(signed), "--verify-key", other)
    assert_clear(ended, 3, "IC3103")
    assert not shelf.exists()
