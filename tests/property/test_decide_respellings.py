"""Metamorphic: no respelling of a call relaxes its verdict. Judged by real OPA, in one run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from support.called import HOME, SANDBOX, bundle, described, load
from support.projects.policies import rule, tool

from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.model.decision import Decision

RULES = [
    rule("no-keys", "deny", paths={"roles": ["read-path"], "within": ["~/keys", "/srv/private"]}),
    rule("docs", "allow", paths={"roles": ["read-path"], "within": ["~/docs", "/srv"]}),
    rule("no-evil", "deny", domains={"roles": ["fetch-url", "git-remote-url"], "allowed": ["*.evil.org"]}),
    rule("hub", "allow", domains={"roles": ["fetch-url", "git-remote-url"], "allowed": ["github.com/us"]}),
    rule(
        "ask-hub", "escalate", domains={"roles": ["fetch-url", "git-remote-url"], "allowed": ["github.com"]}
    ),
    rule("web", "allow", domains={"roles": ["fetch-url"], "allowed": ["*"]}),
    rule("boss", "escalate", lists={"roles": ["recipient"], "allowed": ["boss@example.com"]}),
    rule("mates", "allow", lists={"roles": ["recipient"], "allowed": ["*@example.com"]}),
    rule("ours", "allow", lists={"roles": ["repository"], "allowed": ["us/*"]}),
]
TOOLS = [
    tool("read", path=["read-path"]),
    tool("fetch", url=["fetch-url"]),
    tool("clone", url=["git-remote-url"]),
    tool("mail", to=["recipient"]),
    tool("issue", repo=["repository"]),
]
LINKS = {f"{SANDBOX}/k": "../keys", f"{SANDBOX}/s": "/srv", f"{HOME}/docs/up": "..", "/srv/pub": "private"}
LOOKALIKES = {
    "a": "\u0430",
    "e": "\u0435",
    "o": "\u043e",
    "i": "\u0456",
    "c": "\u0441",
    "/": "\u2215",
    ".": "\u2024",
}


def paths(text: str) -> Iterator[Any]:
    yield from (
        f"/{text}",
        f"/.{text}",
        f"{text}/",
        f"{text}/.",
        f"{text}//",
        f"/etc/..{text}",
        f"/nowhere/..{text}",
    )
    yield from (text.replace("/", "//"), text.replace("/", "/./"), f"{SANDBOX}/../../..{text}")
    yield from (f"../../..{text}", f"{SANDBOX}/s/..{text}", f"~/../..{text}", text.replace(HOME, "~"))
    yield from (text.replace(f"{HOME}/keys", f"{SANDBOX}/k"), text.replace("/srv/private", "/srv/pub"))
    yield from (text.replace(HOME, f"{HOME}/docs/up"), f"{text}/x/..", f"{text}/x/../y")
    yield from (f"file://{text}", text[:-1] + f"%{ord(text[-1]):x}", text + "\0", text + "\n")
    yield from ([text], [[text]], [text, text], {"path": text}, [{"path": text}], [f"{HOME}/docs/a", text])


def urls(text: str) -> Iterator[Any]:
    scheme, rest = text.split("://")
    host, _, path = rest.partition("/")
    for name in (host.upper(), host.title(), f"{host}.", f"{host}:443", f"user@{host}", f"github.com@{host}"):
        yield f"{scheme}://{name}/{path}"
    yield from (
        f"{scheme.upper()}://{rest}",
        f"{text}?x",
        f"{text}#x",
        f" {text}",
        f"{text}\t",
        text.replace("//", "/"),
    )
    yield from (
        text.replace("//", "\\\\"),
        f"{scheme}://{host}\\@github.com/us",
        f"{scheme}://{host}/us/../{path}",
    )
    yield from (
        f"{scheme}://{host}/us/%2e%2e/{path}",
        f"{scheme}://{host}/us/..%2f{path}",
        f"{scheme}://{host}//{path}",
    )
    yield from (f"{scheme}://{host}/us/..;/{path}", f"{scheme}://{host}/%75s/%252e%252e/{path}")
    yield from (
        f"{scheme}://{host.replace('.', '%2e')}/{path}",
        f"{scheme}://{host.replace('.', chr(0x3002))}/{path}",
    )
    yield from ([text], [[text]], {"url": text})


def remotes(text: str) -> Iterator[Any]:
    host, _, path = text.removeprefix("https://").partition("/")
    yield from (f"git@{host}:{path}", f"ssh://git@{host}/{path}", f"{host}:{path}", f"ssh://{host}:22/{path}")
    yield from (
        f"git+ssh://{host}/{path}",
        f"ext::ssh {host}",
        f"{text}.git",
        f"{text}/",
        f"git://{host}/{path}",
    )
    yield from (
        f"-c x={text}",
        f"{host}:../us/../{path}",
        f"http://{host}/{path}",
        f"ssh://-oX@{host}/{path}",
    )


def addresses(text: str) -> Iterator[Any]:
    yield from (
        text.upper(),
        f"<{text}>",
        f"Boss <{text}>",
        f'"a@example.com" <{text}>',
        f"mate@example.com,{text}",
    )
    yield from (
        f"mate@example.com;{text}",
        f"mate@example.com\r\n{text}",
        f" {text} ",
        f"{text}.",
        [text],
        [[text]],
    )
    yield from (
        ["mate@example.com", text],
        {"email": text},
        f"mate@example.com <{text}>",
        text.replace("@", "%40"),
    )


def repositories(text: str) -> Iterator[Any]:
    yield from (
        text.upper(),
        f"us/../{text}",
        f"us/{text}",
        f"/{text}",
        f"{text}/",
        f"{text}/..",
        [text],
        f"us%2f..%2f{text}",
    )


def lookalikes(text: str) -> Iterator[str]:
    for plain, other in LOOKALIKES.items():
        if plain in text:
            yield text.replace(plain, other)
            yield text.replace(plain, other, 1)


BASES: list[tuple[str, str, Any, list[str]]] = [
    ("read", "path", paths, [f"{HOME}/keys/id", "/srv/private/x", "/etc/passwd", f"{HOME}/.ironcurtain/x"]),
    ("read", "path", paths, ["/srv/open", f"{HOME}/docs/a"]),
    ("fetch", "url", urls, ["https://www.evil.org/a", "https://github.com/them/a", "https://127.0.0.1/a"]),
    ("fetch", "url", urls, ["https://localhost/a", "https://169.254.169.254/a", "https://[::1]/a"]),
    ("clone", "url", urls, ["https://evil.org/a", "https://github.com/them/a", "https://other.org/a"]),
    ("clone", "url", remotes, ["https://evil.org/a", "https://github.com/them/a", "https://other.org/a"]),
    ("mail", "to", addresses, ["boss@example.com", "x@evil.org"]),
    ("issue", "repo", repositories, ["them/a"]),
]
ALLOWED = [
    ("fetch", "url", "https://github.com/us/x"),
    ("clone", "url", "https://github.com/us/x"),
    ("mail", "to", "mate@example.com"),
    ("issue", "repo", "us/x"),
]


def decide_all(calls: dict[str, Call]) -> dict[str, Decision]:
    made = bundle({"s": TOOLS}, RULES)
    policy = load(made, described(symlinks=LINKS))
    ready = {id_: prepare(call, policy) for id_, call in calls.items()}
    return decide_prepared(ready, made, policy, OpaCommand(find()))


def test_no_respelling_relaxes_a_verdict() -> None:
    rng = random.Random(20)
    calls: dict[str, Call] = {}
    pairs: list[tuple[str, str]] = []
    for name, argument, respell, texts in BASES:
        for text in texts:
            base = f"{name} {text}"
            calls[base] = Call("s", name, {argument: text})
            spelled = list(respell(text))
            again = [
                s
                for once in rng.sample([s for s in spelled if isinstance(s, str)], 4)
                for s in _again(respell, once)
            ]
            for number, value in enumerate([*spelled, *again]):
                id_ = f"{base} {respell.__name__} {number}"
                calls[id_] = Call("s", name, {argument: value})
                pairs.append((base, id_))
    decided = decide_all(calls)
    assert len(pairs) > 600
    relaxed = {
        id_: (calls[id_].arguments, decided[base].rule, decided[id_].rule)
        for base, id_ in pairs
        if decided[id_].verdict.severity < decided[base].verdict.severity
    }
    assert relaxed == {}


def _again(respell: Any, once: str) -> list[Any]:
    try:
        return list(respell(once))
    except ValueError:
        return []


def test_no_lookalike_is_taken_for_what_is_allowed() -> None:
    calls = {f"base {n}": Call("s", t, {a: text}) for n, (t, a, text) in enumerate(ALLOWED)}
    for number, (name, argument, text) in enumerate(ALLOWED):
        for other, spelled in enumerate(lookalikes(text)):
            calls[f"like {number} {other}"] = Call("s", name, {argument: spelled})
    decided = decide_all(calls)
    assert all(decided[f"base {n}"].verdict == "allow" for n in range(len(ALLOWED)))
    fooled = {
        id_: (calls[id_].arguments, d.rule, d.arguments)
        for id_, d in decided.items()
        if id_.startswith("like")
        and d.rule in {"hub", "mates", "ours"}
        and d.arguments != calls_plain(calls, id_)
    }
    assert fooled == {}


def calls_plain(calls: dict[str, Call], id_: str) -> Any:
    """Where a look-alike folds to the plain spelling (a full-width dot), the plain one is what is sent."""
    return calls[f"base {id_.split()[1]}"].arguments
