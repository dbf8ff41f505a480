"""Patterns are laminar: of two of one kind one contains the other, or no subject lies in both."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from ironcurtain.decision.canonical.identifiers import canonical_identifier
from ironcurtain.decision.canonical.pattern_index import PatternIndex
from ironcurtain.decision.canonical.patterns import canonical_pattern, contains
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import (
    DEFAULT_CASE_INSENSITIVE_HOSTS,
    Url,
    parse_fetch_url,
    parse_remote_url,
)
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import PatternError
from ironcurtain.model.annotations import IdentifierRole

REGISTRY = Registry(
    [
        IdentifierRole(name="channel", description="A chat channel.", case="exact", separator="/"),
        IdentifierRole(name="project", description="A project.", case="fold", separator="-"),
    ]
)
ROLES = {"path": "read-path", "url": "git-remote-url"}

HOSTS = st.sampled_from(
    [
        "a.com",
        "b.a.com",
        "c.b.a.com",
        "ba.com",
        "github.com",
        "localhost",
        "x.localhost",
        "10.0.0.1",
        "[::1]",
        "metadata.packet.net",
        "packet.net",
        "x.packet.net",
        "wiki.corp",
        "corp",
        "8.8.8.8",
    ]
)
PORTS = st.just("") | st.sampled_from(["", ":22", ":80", ":443", ":8080", ":9418"])
SCHEMES = st.just("") | st.sampled_from(["", "https://", "http://", "ssh://", "git://"])
WORDS = st.just("a") | st.sampled_from(["a", "b", "ab", "a-b", "A"])


def joined(mark: str, words: st.SearchStrategy[str] = WORDS, least: int = 1) -> st.SearchStrategy[str]:
    return st.lists(words, min_size=least, max_size=4).map(mark.join)


TAILS = st.lists(WORDS, max_size=3).map(lambda parts: "".join(f"/{part}" for part in parts))
HOST_PATTERNS = st.one_of(HOSTS, HOSTS.map("*.{}".format), st.just("*"))
PATTERNS = {
    "path": st.builds("{}{}".format, st.sampled_from(["", "~"]), TAILS),
    "url": st.builds("{}{}{}{}".format, SCHEMES, HOST_PATTERNS, PORTS, TAILS),
    "recipient": st.builds("{}@{}".format, st.sampled_from(["*", "a", "b"]), HOSTS),
    "repository": st.builds("{}/{}".format, WORDS, st.sampled_from(["*", "a", "b"])),
    "remote-path": st.builds("{}{}".format, joined("/"), st.sampled_from(["", "/**"])),
    "channel": st.builds("{}{}".format, joined("/"), st.sampled_from(["", "/**"])),
    "project": st.builds("{}{}".format, joined("-"), st.sampled_from(["", "-**", "-*"])),
}
SUBJECTS = {
    "path": TAILS.map(lambda tail: tail or "/"),
    "url": st.builds(
        "{}{}{}{}".format, st.sampled_from(["https://", "http://", "ssh://", "git://"]), HOSTS, PORTS, TAILS
    ),
    "recipient": st.builds("{}@{}".format, st.sampled_from(["a", "b"]), HOSTS),
    "repository": st.builds("{}/{}".format, WORDS, WORDS),
    "remote-path": joined("/"),
    "channel": joined("/"),
    "project": joined("-"),
}


def index(kind: str, patterns: list[str]) -> PatternIndex:
    return PatternIndex(
        {kind: patterns},
        {},
        registry=REGISTRY,
        home="/a/b",
        resolve_directory=lambda path: path,
        case_insensitive_hosts=DEFAULT_CASE_INSENSITIVE_HOSTS,
    )


def subject(kind: str, text: str) -> str | Url | None:
    try:
        if kind == "url":
            return parse_remote_url(text)
        return text if kind == "path" else canonical_identifier(REGISTRY[kind], text)
    except UnrepresentableError:
        return None


def canonical(kind: str, text: str) -> str | None:
    try:
        return canonical_pattern(kind, text, REGISTRY)
    except PatternError:
        return None


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[str], list[str | Url]]:
    kind = draw(st.sampled_from(sorted(PATTERNS)))
    texts = draw(st.lists(PATTERNS[kind], min_size=2, max_size=12))
    patterns = [pattern for pattern in (canonical(kind, text) for text in texts) if pattern]
    spelled = draw(st.lists(SUBJECTS[kind], min_size=1, max_size=40))
    return kind, patterns, [value for value in (subject(kind, text) for text in spelled) if value is not None]


@given(cases())
@settings(max_examples=examples(200), deadline=None)
def test_patterns_are_laminar_on_subjects_and_contains_says_so(
    case: tuple[str, list[str], list[str | Url]],
) -> None:
    kind, patterns, values = case
    role = REGISTRY[ROLES.get(kind, kind)]
    together = index(kind, patterns)
    covering = [set(together.covering(role, value)) for value in values]
    cover = {p: {i for i, found in enumerate(covering) if p in found} for p in patterns}
    for one in patterns:
        # One pattern alone covers what it covers among others.
        alone = index(kind, [one])
        assert cover[one] == {i for i, value in enumerate(values) if alone.covering(role, value)}
        for other in patterns:
            both, left, right = cover[one] & cover[other], cover[one], cover[other]
            assert not both or left <= right or right <= left
            if kind != "path":
                # `~` is symbolic to `contains`; where it lies is told by the resolved directories alone.
                inside, around = contains(kind, one, other, REGISTRY), contains(kind, other, one, REGISTRY)
                assert not inside or right <= left
                assert inside or around or not both
                assert (inside and around) == (one == other)


@given(st.sampled_from(sorted(PATTERNS)).flatmap(lambda kind: st.tuples(st.just(kind), PATTERNS[kind])))
@settings(max_examples=examples(200), deadline=None)
def test_canonical_patterns_are_fixed_points(drawn: tuple[str, str]) -> None:
    kind, text = drawn
    once = canonical(kind, text)
    if once is not None:
        assert canonical_pattern(kind, once, REGISTRY) == once


@given(st.sampled_from(REGISTRY.pattern_kinds), st.text(max_size=40))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_a_pattern_or_a_pattern_error(kind: str, text: str) -> None:
    once = canonical(kind, text)
    assert once is None or canonical(kind, once) == once


@given(TAILS, HOSTS)
@settings(deadline=None)
def test_a_fetch_and_a_clone_of_one_place_are_covered_alike(tail: str, host: str) -> None:
    text = f"https://{host}{tail}"
    patterns = index("url", ["*", "*.a.com", "a.com", "a.com/a", "10.0.0.1"])
    fetched = patterns.covering(REGISTRY["fetch-url"], parse_fetch_url(text))
    assert fetched == patterns.covering(REGISTRY["git-remote-url"], parse_remote_url(text))
