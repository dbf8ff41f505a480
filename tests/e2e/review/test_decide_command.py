from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path
from typing import Any

import pytest
from e2e.program import PROGRAM, ROOT, SHIPPED, Ended, Inside, environment, program
from jsonschema import Draft202012Validator

from ironcurtain.bundle.archive import Bundle

SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas" / "decision.json").read_text()))
REVISION = Bundle.read(SHIPPED).revision
READ = ("filesystem", "read_text_file", '{"path": "notes.txt"}')


@pytest.fixture
def site(tmp_path: Path) -> list[str]:
    for name in ("home", "sandbox"):
        (tmp_path / name).mkdir()
    home, sandbox = str(tmp_path / "home"), str(tmp_path / "sandbox")
    return ["--bundle", str(SHIPPED), "--home", home, "--sandbox", sandbox, "--expect-revision", REVISION]


def decisions(ended: Ended) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in ended.out.splitlines()]
    for each in found:
        SCHEMA.validate(each)
    return found


@pytest.mark.parametrize(
    ("call", "code", "rule"),
    [
        (READ, 0, "structural-sandbox-allow"),
        (("git", "git_clone", '{"url": "https://github.com/a/b.git", "path": "b"}'), 4, None),
        (("filesystem", "move_file", '{"source": "~/Documents/a", "destination": "a"}'), 1, None),
        (("filesystem", "read_text_file", '{"path": "/etc/passwd"}'), 4, None),
        (("filesystem", "read_text_file", '{"path": "~/.ironcurtain/x"}'), 1, "structural-protected-path"),
        (("filesystem", "read_text_file", '{"path": 7}'), 1, "structural-invalid-arguments"),
        (("filesystem", "read_text_file", "no JSON \x1b[31m"), 1, "structural-malformed-call"),
        (("filesystem", "read_text_file", "[]"), 1, "structural-malformed-call"),
        (("filesystem", "read_text_file", ""), 1, "structural-malformed-call"),
        (("filesystem", "rm", "{}"), 1, "structural-unknown-tool"),
        (("", "", "{}"), 1, "structural-unknown-tool"),
        (("filesystem\n", "\u202e", "{}"), 1, "structural-unknown-tool"),
    ],
)
def test_a_verdict_is_an_exit_code(
    call: tuple[str, str, str], code: int, rule: str | None, site: list[str], inside: Inside
) -> None:
    as_json = inside("decide", *site, "--format", "json", *call)
    (decision,) = decisions(as_json)
    assert (as_json.code, as_json.err) == (code, "")
    assert rule in (None, decision["rule"])
    refused_early = {"malformed-call", "unknown-tool", "invalid-arguments"}
    assert ("arguments" in decision) == (decision["rule"].removeprefix("structural-") not in refused_early)
    text = inside("decide", *site, *call)
    assert (text.code, text.err) == (code, "")
    assert text.out.startswith(decision["verdict"].upper())
    assert ("to change it" in text.out) == (code != 0)
    assert not any(character in text.out for character in "\x1b\u202e\r")


@pytest.mark.parametrize("position", [0, 1, 2])
def test_arguments_that_are_no_text_are_denied(position: int, site: list[str], inside: Inside) -> None:
    call = [*READ]
    call[position] = b"\xff\xfe".decode(errors="surrogateescape")  # as the interpreter gives it to programs
    ended = inside("decide", *site, "--format", "json", *call)
    (decision,) = decisions(ended)
    assert (ended.code, decision["rule"]) == (1, "structural-malformed-call")


def test_it_says_once_that_the_bundle_is_unsigned(site: list[str], inside: Inside) -> None:
    ended = inside("decide", *site[:-2], *READ)
    assert (ended.code, ended.err.count("unsigned")) == (0, 1)
    assert ended.err.count("\n") == 1


def test_another_revision_is_refused(site: list[str], inside: Inside) -> None:
    ended = inside("decide", *site[:-1], "sha256:" + "0" * 64, *READ)
    assert (ended.code, ended.out, ended.codes) == (3, "", ["IC3101"])


BATCH = b"""\
{"id": "a", "server": "filesystem", "tool": "read_text_file", "arguments": {"path": "notes.txt"}}
{"id": "b", "server": "filesystem", "tool": "read_text_file", "arguments": "{\\"path\\": \\"notes.txt\\"}"}
{"id": "c", "server": "filesystem"}
{"id": "d", "server": "filesystem", "tool": "read_text_file", "arguments": {"path": "notes.txt"}, "mode": 1}
this is no JSON

\xff\xfe
{"id": 7, "server": "filesystem", "tool": "rm", "arguments": {}}
{"id": "i", "id": "j", "server": "filesystem", "tool": "rm", "arguments": {}}
[]
{"id": "k", "server": "filesystem", "tool": "read_text_file", "arguments": {"path": "a"}, "caller": null}
{"id": "z", "server": "filesystem", "tool": "write_file", "arguments": {"path": "/etc/passwd", "content": ""}}
"""
NO_CALL = "structural-malformed-call"
EXPECTED = [
    ("a", "structural-sandbox-allow"),
    ("b", "structural-sandbox-allow"),
    ("c", NO_CALL),
    ("d", NO_CALL),
    (None, NO_CALL),
    (None, NO_CALL),
    (None, NO_CALL),
    ("7", "structural-unknown-tool"),
    (None, NO_CALL),
    (None, NO_CALL),
    ("k", NO_CALL),
    ("z", "filesystem-ask-write-elsewhere"),
]


def test_a_batch_answers_line_by_line(site: list[str], inside: Inside, tmp_path: Path) -> None:
    batch = tmp_path / "calls.jsonl"
    batch.write_bytes(BATCH)
    ended = inside("decide", *site, "--batch", str(batch))
    assert (ended.code, ended.err) == (1, "")
    assert [(each["id"], each["rule"]) for each in decisions(ended)] == EXPECTED
    reasons = [each["reason"] for each in decisions(ended)]
    bad = [
        number for number, reason in enumerate(reasons, start=1) if reason.startswith(f"{batch}:{number}: ")
    ]
    assert bad == [3, 4, 5, 6, 7, 9, 10, 11]
    assert f'{batch}:4: a call has no key "mode". Write {{"id": …, "server": …, ' in reasons[3]
    batch.write_bytes(BATCH.replace(b"\n", b"\r\n").removesuffix(b"\r\n"))
    crlf = inside("decide", *site, "--batch", str(batch))
    assert (crlf.code, crlf.err, len(decisions(crlf))) == (1, "", len(EXPECTED))


ALLOWED = '{"server": "filesystem", "tool": "read_text_file", "arguments": {"path": "notes.txt"}}'
DENIED = ALLOWED.replace("notes.txt", "~/.ironcurtain/config.json")
ASKED = (
    '{"server": "git", "tool": "git_clone", "arguments": {"url": "https://github.com/a/b.git", "path": "b"}}'
)


@pytest.mark.parametrize(
    ("lines", "code"),
    [([ALLOWED], 0), ([ALLOWED, ASKED], 4), ([DENIED, ASKED, ALLOWED], 1), ([ASKED, "x"], 1)],
)
def test_the_worst_line_is_the_status(
    lines: list[str], code: int, site: list[str], inside: Inside, tmp_path: Path
) -> None:
    (tmp_path / "calls.jsonl").write_text("\n".join(lines))
    ended = inside("decide", *site, "--batch", str(tmp_path / "calls.jsonl"))
    assert (ended.code, len(decisions(ended))) == (code, len(lines))


@pytest.mark.parametrize("content", [b"", b"\n", b" \n\n"])
def test_an_empty_batch_is_no_batch(content: bytes, site: list[str], inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "calls.jsonl").write_bytes(content)
    ended = inside("decide", *site, "--batch", str(tmp_path / "calls.jsonl"))
    assert (ended.code, ended.out, ended.codes) == (2, "", ["IC1001"])


@pytest.mark.parametrize(
    ("more", "code", "error"),
    [
        (["filesystem", "read_text_file"], 2, "IC1001"),
        (["--batch", "no-such-file"], 2, "IC1002"),
        (["--batch", ".", *READ], 2, "IC1001"),
        (["--caller", "[]", *READ], 2, "IC1001"),
        (["--caller", "{", *READ], 2, "IC1001"),
        (["--servers", "no-such-file", *READ], 2, "IC1002"),
        (["--sandbox", "/", *READ], 2, "IC1006"),
        (["--home", "/", *READ], 2, "IC1006"),
        (["--opa", "no-such-file", *READ], 3, "IC3001"),
        (["--opa", "/bin/sh", *READ], 3, "IC3002"),
        (["--bundle", "no-such-bundle", *READ], 3, "IC3101"),
    ],
)
def test_wrong_options_are_no_answer(
    more: list[str], code: int, error: str, site: list[str], inside: Inside
) -> None:
    ended = inside("decide", *site, *more)
    assert (ended.code, ended.out, ended.codes) == (code, "", [error])


def test_input_prints_what_opa_gets(site: list[str], inside: Inside) -> None:
    ended = inside("input", *site, *READ)
    assert (ended.code, ended.err) == (0, "")
    schema = Draft202012Validator(json.loads((ROOT / "schemas" / "input.json").read_text()))
    schema.validate(json.loads(ended.out))
    denied = inside("input", *site, *READ[:2], "{")
    assert (denied.code, denied.out) == (1, "")
    assert denied.err.startswith("deny structural-malformed-call: ")


def test_the_settings_of_the_working_directory_do_not_count(
    site: list[str], inside: Inside, tmp_path: Path
) -> None:
    (tmp_path / "ironcurtain.toml").write_text("no settings at all")
    (tmp_path / ".env").write_text("PATH=/nowhere\n")
    assert inside("decide", *site, *READ, cwd=tmp_path).code == 0


def test_a_locale_without_utf_8_is_no_failure(site: list[str]) -> None:
    call = ("--format", "json", "filesystem", "read_text_file", '{"path": "/ü/文"}')
    ended = program("decide", *site, *call, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    (decision,) = decisions(ended)
    assert (ended.code, decision["rule"]) == (1, "structural-malformed-call")
    (decision,) = decisions(program("decide", *site, *call, LC_ALL="C"))
    assert decision["arguments"]["path"] == "/ü/文"


def test_no_terminal_codes_on_a_terminal_that_wants_none(site: list[str]) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, "decide", *site, *READ], env=environment(NO_COLOR="1"), stdout=theirs, stderr=theirs
    ):
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    assert shown.startswith(b"ALLOW")
    assert b"\x1b" not in shown


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # the other side of a terminal has closed
        return b""


@pytest.mark.parametrize(
    ("redirect", "code"),
    [(">&-", 0), ("| head -c 0", 0), ("2>&-", 0), pytest.param("> /dev/full", 3, id="full")],
)
def test_an_output_that_takes_nothing(redirect: str, code: int, site: list[str]) -> None:
    ended = subprocess.run(
        ["sh", "-c", f'"$@" {redirect}', "sh", *PROGRAM, "decide", *site, *READ],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
