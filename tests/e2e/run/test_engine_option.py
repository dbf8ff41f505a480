"""`--engine` on the command line: who is asked, and what can and cannot set it."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from e2e.program import SHIPPED, Inside, assert_clear
from support.services.nodes import free_port, opa_node, pretender

from ironcurtain.bundle.signing.keys import new_key
from ironcurtain.cli.main import cli
from ironcurtain.cli.review import decide
from ironcurtain.cli.run import proxy
from ironcurtain.errors import BundleSignatureError
from ironcurtain.policy import Policy

ARCHIVE = SHIPPED.with_name("bundle.tar.gz")
CALLS = {
    "allow": ("filesystem", "read_text_file", '{"path": "~/Documents/letter.txt"}'),
    "deny": ("filesystem", "read_text_file", '{"path": "/etc/passwd"}'),
    "unknown": ("filesystem", "no_tool", "{}"),
}
VARIABLES = ("ENGINE", "DECIDE_ENGINE", "ENGINE_URL", "DECIDE_ENGINE_CA", "ENGINE_TOKEN_FILE")


@pytest.fixture
def bundle(tmp_path: Path) -> list[str]:
    (tmp_path / "work").mkdir()
    return ["decide", "--format", "json", "--bundle", str(ARCHIVE), "--sandbox", str(tmp_path / "work")]


def test_the_answers_of_the_embedded_engine_without_an_opa_of_our_own(
    bundle: list[str], inside: Inside, tmp_path: Path
) -> None:
    with opa_node(ARCHIVE) as (url, _):
        for call in CALLS.values():
            ours = inside(*bundle, *call)
            theirs = inside(*bundle, "--opa", str(tmp_path / "none"), "--engine", url, *call)
            assert json.loads(theirs.out) == json.loads(ours.out)
            assert theirs.code == ours.code


def test_nobody_answers(bundle: list[str], inside: Inside) -> None:
    ended = inside(*bundle, "--engine", f"http://127.0.0.1:{free_port()}", *CALLS["allow"])
    assert_clear(ended, 3, "IC3003")
    assert "cannot be reached" in ended.err


def test_no_variable_sets_it(bundle: list[str], inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(f"IRONCURTAIN_{name}", f"http://127.0.0.1:{free_port()}")
    assert inside(*bundle, *CALLS["allow"]).code == 0
    assert "auto_envvar_prefix" not in cli.context_settings
    for command in (decide.command, proxy.command):
        options = [each for each in command.params if str(each.name).startswith("engine")]
        assert len(options) == 3
        assert not [each for each in options if each.envvar or isinstance(each, click.Argument)]


@pytest.mark.parametrize(
    "options",
    [
        ("--engine", ""),
        ("--engine", "http://opa.example"),
        ("--engine", "https://user:pass@opa.example"),
        ("--engine-token-file", str(ARCHIVE)),
        ("--engine-ca", str(ARCHIVE)),
    ],
    ids=["empty", "in-the-clear", "password", "token-without-node", "ca-without-node"],
)
def test_options_that_are_refused(options: tuple[str, str], bundle: list[str], inside: Inside) -> None:
    assert_clear(inside(*bundle, *options, *CALLS["allow"]), 2, "IC1001")


def test_a_damaged_bundle_is_refused_before_anybody_is_asked(
    bundle: list[str], inside: Inside, tmp_path: Path
) -> None:
    damaged = tmp_path / "bundle.tar.gz"
    damaged.write_bytes(ARCHIVE.read_bytes()[:-100])
    with pretender(200) as node:
        ended = inside(*bundle, "--bundle", str(damaged), "--engine", node.url, *CALLS["allow"])
        assert node.asked == []
    assert_clear(ended, 3, "IC3101")


def test_no_tool_may_touch_the_files_of_the_engine(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    policy = Policy.load(ARCHIVE, engine="https://opa.example", engine_token_file=token)
    assert str(token) in policy.loaded.deployment.protected
    assert policy.nodes == ("https://opa.example:443",)


def test_the_signature_is_demanded_here_whoever_decides(tmp_path: Path) -> None:
    public = tmp_path / "key.pub.pem"
    public.write_text(new_key(tmp_path / "key.pem", "ES256").public.pem)
    with pytest.raises(BundleSignatureError):
        Policy.load(ARCHIVE, engine="https://opa.example", verify_key=public)
