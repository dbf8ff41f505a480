"""Any configuration: our URLs are those that git itself says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from ironcurtain.decision.canonical.git.config import read_settings
from ironcurtain.decision.canonical.git.process import Git
from ironcurtain.decision.canonical.git.repository import remote_urls

NAMES = ("origin", "Origin", "a.b", "x y", "h:p", "https://h/r", 'q"\\', "ü")
PREFIXES = ("", "h", "h:", "h:p", "https://", "https://h", "https://h/", "https://h/r", "or", "ssh://é/")
URLS = st.one_of(
    st.sampled_from(NAMES),
    st.builds(str.__add__, st.sampled_from(PREFIXES[1:]), st.text("phr/.:", max_size=4)),
).filter(lambda url: ":" in url and "::" not in url)
ENTRIES = st.lists(
    st.one_of(
        st.tuples(st.just("remote"), st.sampled_from(NAMES), st.sampled_from(["url", "URL"]), URLS),
        st.tuples(st.just("remote"), st.sampled_from(NAMES), st.sampled_from(["pushurl", "pushURL"]), URLS),
        st.tuples(
            st.just("url"),
            st.sampled_from(("https://evil/", "https://h/", "h:", "", "E:")),
            st.sampled_from(["insteadOf", "pushInsteadOf", "INSTEADOF"]),
            st.sampled_from(PREFIXES),
        ),
    ),
    max_size=12,
)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.fixture(scope="module")
def work() -> Iterator[Path]:
    with TemporaryDirectory() as directory:
        subprocess.run(["git", "init", "-q", directory], check=True)
        yield Path(directory).resolve()


def _git(work: Path, *arguments: str) -> list[str] | None:
    done = subprocess.run(
        ["git", *arguments], cwd=work, env=_environ(work), capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines() if done.returncode == 0 else None


def _hosted(urls: Iterable[str]) -> set[str]:
    """Leave local paths out, which we return joined to a directory."""
    return {url for url in urls if ":" in url and "/" not in url.partition(":")[0]}


def _environ(work: Path) -> dict[str, str]:
    return {"HOME": str(work), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}


@settings(max_examples=examples(60), deadline=None)
@given(entries=ENTRIES, name=st.sampled_from(NAMES), url=URLS)
def test_urls_are_those_of_git(
    work: Path, entries: list[tuple[str, str, str, str]], name: str, url: str
) -> None:
    lines = [f"[{a} {_quoted(b)}]\n\t{key} = {_quoted(value)}\n" for a, b, key, value in entries]
    (work / ".git/config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n" + "".join(lines)
    )
    read = read_settings(str(work), git=Git.of(_environ(work)))

    if any(a == "remote" and b == name and key.lower() == "url" for a, b, key, _ in entries):
        fetch = _git(work, "remote", "get-url", "--all", name)
        push = _git(work, "remote", "get-url", "--push", "--all", name)
        assert fetch is not None
        assert push is not None
        contacts = read.contacts(name)
        assert (list(contacts.fetch), list(contacts.push)) == (fetch, push)
        answer = remote_urls(str(work), name, git=Git.of(_environ(work)))
        # Rewriting may leave nothing of a URL; no one can say what git makes of that.
        assert (answer.unresolved is None) == ("" not in (*fetch, *push))
        assert _hosted(answer.urls) == _hosted([*fetch, *push])
    for remote in (name, url):
        assert _git(work, "ls-remote", "--get-url", remote) == [read.contacts(remote).fetch[0]]


@settings(max_examples=examples(50), deadline=None)
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)),
    remote=st.text(max_size=20),
)
def test_no_configuration_and_no_remote_raises(work: Path, content: bytes, remote: str) -> None:
    (work / ".git/config").write_bytes(b'[remote "origin"]\n\turl = h:p\n' + content)
    answer = remote_urls(str(work), remote, git=Git.of(_environ(work)))
    assert answer.urls or answer.unresolved
    assert answer.unresolved is None or answer.unresolved.isprintable()
