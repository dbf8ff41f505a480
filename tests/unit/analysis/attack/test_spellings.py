"""Every spelling really is the same thing to those who are said to take it so: asked of the real ones.

The kernel is asked in a directory of the test's own, browsers through a WHATWG parser, git through git.
"""

from __future__ import annotations

import os
import subprocess
from email.utils import getaddresses
from pathlib import Path

import ada_url
import pytest
from support.documents import text_at

from ironcurtain.analysis.attack.scenes import folded
from ironcurtain.analysis.attack.spellings.leaves import respell_identifier, respell_remote
from ironcurtain.analysis.attack.spellings.paths import respell_path
from ironcurtain.analysis.attack.spellings.spelling import (
    BROWSERS,
    FRESH,
    KERNEL,
    Scene,
    Spelling,
    SpellingContext,
)
from ironcurtain.analysis.attack.spellings.urls import respell_url
from ironcurtain.decision.canonical.hosts import canonical_host
from ironcurtain.decision.canonical.identifiers import canonical_identifier
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.reserved_tools import RESOURCE_URI
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import IdentifierRole

ANYWHERE = SpellingContext(home="/home/user", root="/home/user/sandbox")
ADDRESSES = (
    "https://example.com/a/b",
    "https://example.com",
    "http://example.com:8080/a?q#f",
    "https://192.0.2.1/a",
    "http://[2001:db8::1]/a",
)


@pytest.fixture
def ground(tmp_path: Path) -> SpellingContext:
    real = Path(os.path.realpath(tmp_path))
    (real / "home" / "sandbox").mkdir(parents=True)
    secret = real / "home" / "Secret" / "dir"
    secret.mkdir(parents=True)
    (secret / "file.txt").write_text("x")
    return SpellingContext(
        str(real / "home"), str(real / "home" / "sandbox"), (str(real / "home" / "sandbox"),)
    )


def laid(ground: SpellingContext) -> None:
    """Lay the links that the spellings asked for."""
    for place, target in ground.links.symbolic.items():
        Path(place).parent.mkdir(exist_ok=True)
        if not Path(place).is_symlink():
            Path(place).symlink_to(target)


def reached(text: str, ground: SpellingContext) -> str:
    """Return where the kernel ends up, with names that lead nowhere made directories first."""
    absolute = text if text.startswith("/") else f"{ground.root}/{text}"
    for end in range(absolute.count(FRESH)):
        before = FRESH.join(absolute.split(FRESH)[: end + 1]) + FRESH
        if not before.startswith("/proc") and not os.path.lexists(before):
            Path(before).mkdir()
    return os.path.realpath(absolute.rstrip("/") if absolute.strip("/") else absolute)


@pytest.mark.parametrize("below", ["Secret/dir", "Secret/dir/file.txt", "Secret/../Secret/dir"])
def test_a_path_that_the_kernel_takes_for_another_one_is_no_spelling(
    below: str, ground: SpellingContext
) -> None:
    path = f"{ground.home}/{below}"
    spellings = [
        each
        for each in respell_path(path, ground)
        if each.taken_by == KERNEL and "process" not in each.kind and not text(each).startswith(f"/{FRESH}")
    ]
    laid(ground)
    others = {
        each.value: reached(text(each), ground)
        for each in spellings
        if not (below.endswith(".txt") and text(each).endswith(("/", "/.", "/..")))  # a file is no directory
    }
    assert len(others) >= 10
    assert set(others.values()) == {os.path.realpath(path)}


def test_a_tilde_is_the_home_directory(ground: SpellingContext) -> None:
    path = f"{ground.home}/Secret/dir"
    texts = [text(each) for each in respell_path(path, ground) if each.kind == "~"]
    expanded = {os.path.realpath(ground.home + text[1:]) for text in texts}
    assert len(texts) == 2
    assert expanded == {path}


def test_folded_spellings_are_one_name_where_names_fold() -> None:
    path = "/home/user/Caf\u00e9/Skip"
    texts = [text(each) for each in respell_path(path, ANYWHERE) if each.scene is Scene.FOLDED]
    assert len(texts) >= 5
    assert {folded(text) for text in texts} == {folded(path)}
    assert path not in texts


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_browsers_take_for_another_one_is_no_spelling(address: str) -> None:
    def place(text: str) -> tuple[str, str, str]:
        url = ada_url.URL(text)
        pathname = "".join(
            chr(int(part[:2], 16)) + part[2:] if number else part
            for number, part in enumerate(url.pathname.split("%"))
        )
        return url.protocol, canonical_host(url.hostname).name, f"{url.port}{pathname}{url.search}"

    spellings = [each for each in respell_url(address, ANYWHERE) if each.taken_by == BROWSERS]
    assert len(spellings) >= 15
    others = {each.value: place(text(each)) for each in spellings}
    assert {text for text, found in others.items() if found != place(address)} == set()


def test_other_schemes_have_no_spellings_of_the_web() -> None:
    assert list(respell_url("ftp://example.com/", ANYWHERE)) == []
    assert list(respell_url("no address", ANYWHERE)) == []


@pytest.mark.parametrize("remote", ["ssh://git@example.com/us/a", "git@example.com:us/a.git"])
def test_git_asks_ssh_for_the_same_repository(remote: str, tmp_path: Path) -> None:
    asked = {each.value: contacted(text(each), tmp_path) for each in ssh_spellings(remote)}
    assert len(asked) >= 3
    assert {tuple(words) for words in asked.values()} == {("git@example.com", "us/a")}


def text(spelling: Spelling) -> str:
    return text_at(spelling.value)


def ssh_spellings(remote: str) -> list[Spelling]:
    plain = {"scp-like form", "ssh form"}
    known = [each for each in respell_remote(remote, ANYWHERE) if each.kind in plain]
    return [e for e in known if not any(mark in text(e) for mark in ("..", "-oX", "COM", "["))]


def contacted(remote: str, tmp_path: Path) -> list[str]:
    """Return the host and the repository that git would have ssh ask for."""
    told = tmp_path / "told"
    program = tmp_path / "ssh"
    program.write_text(f'#!/bin/sh\nfor word; do echo "$word"; done > {told}\nexit 1\n')
    program.chmod(0o755)
    environ = {**os.environ, "GIT_SSH_COMMAND": str(program), "GIT_SSH_VARIANT": "ssh", "LC_ALL": "C"}
    subprocess.run(["git", "ls-remote", remote], env=environ, capture_output=True, check=False)
    words = told.read_text().split()
    host = next(word for word in words if "example.com" in word)
    repository = told.read_text().split("'")[1].strip("/").removesuffix(".git")
    return [host, repository]


def test_mail_programs_find_the_same_address_in_each_form() -> None:
    role = Registry()["recipient"]
    found = [each for each in respell_identifier(role, "boss@example.org") if each.kind == "display name"]
    assert len(found) >= 3
    for each in found[:3]:
        assert [address for _, address in getaddresses([text(each)])] == ["boss@example.org"], each.value


def test_values_are_spelled_otherwise_in_each_spelling() -> None:
    registry = Registry()
    for role, text in (("recipient", "a@b.example"), ("repository", "us/a"), ("remote-path", "a/b")):
        spelled = [each.value for each in respell_identifier(registry[role], text)]
        assert len(spelled) >= 7
        assert text not in spelled


def test_no_spelling_of_an_identifier_that_servers_tidy_is_another_identifier() -> None:
    """Each is refused or judged as the identifier itself, so that none can get a milder verdict."""
    channel = IdentifierRole(name="channel", description="A chat channel.", case="fold")
    registry = Registry([channel, RESOURCE_URI])
    texts = {
        "channel": "sécret",
        "resource-uri": "note://secret",
        "remote-path": "a/secret",
        "repository": "a/b",
    }
    for role, identifier in texts.items():
        tidy = [
            text(each)
            for each in respell_identifier(registry[role], identifier)
            if each.kind in ("spaces", "invisible characters", "Unicode form")
        ]
        assert len(tidy) >= 14
        for spelled in tidy:
            with pytest.raises(UnrepresentableError):
                canonical_identifier(registry[role], spelled)
