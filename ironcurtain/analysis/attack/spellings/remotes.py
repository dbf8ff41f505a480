"""Spellings of git remotes: what git takes for the same repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ironcurtain.analysis.attack.spellings.paths import respell_path
from ironcurtain.analysis.attack.spellings.spelling import GIT, Spelling, SpellingContext
from ironcurtain.analysis.attack.spellings.urls import respell_host

_URL = re.compile(
    r"(?P<scheme>https?|ssh|git)://(?:(?P<user>[^@/]*)@)?(?P<host>\[[^\]]*\]|[^/:@\[\]]+)(?::(?P<port>\d+))?"
    r"/(?P<path>.*)"
)
_SCP = re.compile(r"(?:(?P<user>[^@:/]*)@)?(?P<host>[^:/@\[\]]+):(?P<path>[^:].*)")
_PORTS = {"https": "443", "http": "80", "ssh": "22", "git": "9418"}

# What git takes for a host, or for a name that holds these characters.
_NOT_OF_GIT = frozenset({"file URL", "~"})


def respell_remote(text: str, ground: SpellingContext) -> Iterator[Spelling]:
    """Yield spellings of a remote: an address, git's short form of one, or a path. Names have none."""
    url = _URL.fullmatch(text)
    short = None if url else _SCP.fullmatch(text)
    if url:
        yield from _url(url)
    elif short and "://" not in text:
        yield from _of_ssh(f"{short['user']}@" if short["user"] else "", short["host"], short["path"])
    elif text.startswith(("/", "~/", "./", "../")):
        for spelling in respell_path(text, ground):
            if spelling.kind not in _NOT_OF_GIT:
                yield replace(spelling, taken_by=GIT)
        if text.startswith("/"):
            yield Spelling("file URL", GIT, f"file://{text}")
    yield Spelling("transport helper", GIT, f"ext::{text}", neighbour=True)
    yield Spelling("option", GIT, f"--upload-pack={text}", neighbour=True)


def _url(match: re.Match[str]) -> Iterator[Spelling]:
    scheme, host, path = match["scheme"], match["host"], match["path"]
    user = f"{match['user']}@" if match["user"] else ""
    port = f":{match['port']}" if match["port"] else ""
    for kind, spelled in respell_host(host):
        yield Spelling(kind, GIT, f"{scheme}://{user}{spelled}{port}/{path}")
    for kind, spelled in _repository(path):
        yield Spelling(kind, GIT, f"{scheme}://{user}{host}{port}/{spelled}")
    yield Spelling("case", GIT, f"{scheme.upper()}://{user}{host}{port}/{path}")
    if not port:
        yield Spelling("port", GIT, f"{scheme}://{user}{host}:{_PORTS[scheme]}/{path}")
    if not user:
        yield Spelling("user", GIT, f"{scheme}://git@{host}{port}/{path}")
        yield Spelling("user", GIT, f"{scheme}://github.com@{host}{port}/{path}")
    if scheme == "ssh" and not port:
        yield from _of_ssh(user, host, path)
    elif scheme == "https" and not port:
        for spelling in _of_ssh("git@", host, path):
            yield replace(spelling, kind="another transport", neighbour=True)
        yield Spelling("another transport", GIT, f"http://{host}/{path}", neighbour=True)
        yield Spelling("another transport", GIT, f"git://{host}/{path}", neighbour=True)


def _of_ssh(user: str, host: str, path: str) -> Iterator[Spelling]:
    below = path.lstrip("/")
    yield Spelling("scp-like form", GIT, f"{user}{host}:{below}")
    yield Spelling("scp-like form", GIT, f"{user}{host.upper()}:{below}")
    yield Spelling("scp-like form", GIT, f"{user}[{host}]:{below}")
    yield Spelling("scp-like form", GIT, f"{user}{host}:x/../{below}")
    yield Spelling("ssh form", GIT, f"ssh://{user}{host}/{below}")
    yield Spelling("ssh form", GIT, f"ssh://{user}{host}:22/{below}")
    yield Spelling("ssh form", GIT, f"git+ssh://{user}{host}/{below}")
    yield Spelling("ssh form", GIT, f"ssh://-oX@{host}/{below}")


def _repository(path: str) -> Iterator[tuple[str, str]]:
    plain = path.rstrip("/").removesuffix(".git")
    if not plain:
        return
    for spelled in (plain, f"{plain}.git", f"{plain}/", f"{plain}.git/"):
        if spelled != path:
            yield "suffix", spelled
    yield "dot segments", f"x/../{path}"
    yield "dot segments", f"./{path}"
    yield "dot segments", f"x/%2e%2e/{path}"
    yield "doubled slashes", f"/{path}"
    yield "percent-encoding", f"%{ord(path[0]) % 256:02x}{path[1:]}"
