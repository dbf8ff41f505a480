"""Configuration, files and variables that send git elsewhere in ways we do not follow."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ironcurtain.decision.canonical.git.process import Git
from ironcurtain.decision.canonical.git.repository import remote_urls

URL = "https://github.com/u/r"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.fixture
def work(tmp_path: Path, environ: dict[str, str]) -> Path:
    directory = tmp_path / "work"
    for arguments in (("init", "-q", str(directory)), ("-C", str(directory), "remote", "add", "origin", URL)):
        subprocess.run(["git", *arguments], env=environ, check=True)
    return directory


def _configure(work: Path, key: str, value: str) -> None:
    subprocess.run(["git", "-C", str(work), "config", "--add", key, value], check=True)


REDIRECTS = [
    ("remote.origin.vcs", "hg"),
    ("remote.origin.proxy", "http://proxy.example"),
    ("remote.origin.uploadpack", "/tmp/x"),
    ("remote.origin.receivepack", "/tmp/x"),
    ("remote.origin.lfsurl", "https://evil.example"),
    ("core.gitProxy", "/tmp/x"),
    ("core.sshCommand", "/tmp/x"),
    ("http.proxy", "http://proxy.example"),
    ("http.https://github.com.proxy", "http://proxy.example"),
    ("http.curloptResolve", "github.com:443:10.0.0.1"),
    ("protocol.ext.allow", "always"),
    ("protocol.allow", "always"),
    ("lfs.url", "https://evil.example"),
    ("lfs.pushurl", "https://evil.example"),
    ("lfs.customtransfer.x.path", "/tmp/x"),
    ("submodule.recurse", "true"),
    ("push.recurseSubmodules", "on-demand"),
    ("fetch.recurseSubmodules", "true"),
    ("submodule.x.url", "https://evil.example"),
    ("fetch.bundleURI", "https://evil.example"),
    ("transfer.bundleURI", "true"),
    ("fetch.uriProtocols", "https"),
    ("remote..url", "https://evil.example"),
    ("remote.origin.pushurl", ""),
    ("remote.origin.url", ""),
]


@pytest.mark.parametrize(("key", "value"), REDIRECTS)
def test_a_redirect_is_unresolved(key: str, value: str, work: Path, environ: dict[str, str]) -> None:
    assert remote_urls(str(work), "origin", git=Git.of(environ)).unresolved is None
    _configure(work, key, value)
    assert remote_urls(str(work), "origin", git=Git.of(environ)).unresolved


HARMLESS = [
    ("remote.other.proxy", "http://proxy.example"),
    ("http.proxy", ""),
    ("protocol.version", "2"),
    ("submodule.recurse", "false"),
    ("push.recurseSubmodules", "check"),
    ("fetch.recurseSubmodules", "no"),
    ("lfs.repositoryformatversion", "0"),
    ("push.default", "current"),
    ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
]


@pytest.mark.parametrize(("key", "value"), HARMLESS)
def test_other_settings_do_not_matter(key: str, value: str, work: Path, environ: dict[str, str]) -> None:
    _configure(work, key, value)
    answer = remote_urls(str(work), "origin", git=Git.of(environ))
    assert answer.unresolved is None
    assert answer.urls == (URL,)


def test_submodules_are_no_matter_where_git_does_not_fetch_them(work: Path, environ: dict[str, str]) -> None:
    _configure(work, "submodule.x.url", "https://evil.example")
    _configure(work, "fetch.recurseSubmodules", "false")
    assert remote_urls(str(work), "origin", git=Git.of(environ)).unresolved is None


def test_a_persons_own_ssh_program_is_no_redirect(work: Path, environ: dict[str, str]) -> None:
    Path(environ["HOME"], ".gitconfig").write_text("[core]\n\tsshCommand = ssh -i key\n")
    assert remote_urls(str(work), "origin", git=Git.of(environ)).unresolved is None


@pytest.mark.parametrize("key", ["remote.origin.url", "branch.main.remote", "remote.pushDefault"])
def test_a_setting_without_a_value_is_unresolved(key: str, work: Path, environ: dict[str, str]) -> None:
    section, _, name = key.rpartition(".")
    head, _, sub = section.partition(".")
    with (work / ".git/config").open("a") as file:
        file.write(f'[{head} "{sub}"]\n\t{name}\n' if sub else f"[{head}]\n\t{name}\n")
    subprocess.run(["git", "-C", str(work), "symbolic-ref", "HEAD", "refs/heads/main"], check=True)
    assert "no value" in str(remote_urls(str(work), None, git=Git.of(environ)).unresolved)


def test_a_push_default_of_several_names_is_unresolved(work: Path, environ: dict[str, str]) -> None:
    _configure(work, "remote.pushDefault", "fork origin")
    assert "several" in str(remote_urls(str(work), None, git=Git.of(environ)).unresolved)


@pytest.mark.parametrize("directory", ["remotes", "branches"])
def test_a_remote_described_in_a_file_is_unresolved(
    directory: str, work: Path, environ: dict[str, str]
) -> None:
    (work / ".git" / directory).mkdir(exist_ok=True)
    text = {"remotes": "URL: https://evil.example/r\n", "branches": "https://evil.example/r\n"}[directory]
    (work / ".git" / directory / "old").write_text(text)
    shown = subprocess.run(
        ["git", "-C", str(work), "ls-remote", "--get-url", "old"], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "https://evil.example/r\n"
    assert remote_urls(str(work), "old", git=Git.of(environ)).unresolved


def test_the_file_of_git_lfs_is_unresolved(work: Path, environ: dict[str, str]) -> None:
    (work / ".lfsconfig").write_text("[lfs]\n\turl = https://evil.example\n")
    assert remote_urls(str(work), "origin", git=Git.of(environ)).unresolved


@pytest.mark.parametrize(
    "name",
    [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_COMMON_DIR",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_PROXY_COMMAND",
        "GIT_EXEC_PATH",
        "GIT_ALLOW_PROTOCOL",
    ],
)
def test_a_redirecting_variable_is_unresolved(name: str, work: Path, environ: dict[str, str]) -> None:
    answer = remote_urls(str(work), "origin", git=Git.of(environ | {name: "/tmp/x"}))
    assert answer.urls == ()
    assert name in str(answer.unresolved)


def test_what_a_repository_wrote_is_escaped_in_reasons(work: Path, environ: dict[str, str]) -> None:
    _configure(work, "remote.\x1b[31m\u202ered.vcs", "hg")
    _configure(work, "remotes.all", "\x1b[31m\u202ered origin")
    reason = str(remote_urls(str(work), "all", git=Git.of(environ)).unresolved)
    assert "\\x1b" in reason
    assert "\\u202e" in reason
    assert not {"\x1b", "\u202e"} & set(reason)


def test_a_url_that_is_no_text_is_unresolved(work: Path, environ: dict[str, str]) -> None:
    with (work / ".git/config").open("ab") as file:
        file.write(b'[remote "raw"]\n\turl = https://h/\xff\n')
    assert remote_urls(str(work), "raw", git=Git.of(environ)).unresolved
