"""Real paths against the kernel: random trees in a real directory, random ways to write paths in them."""

from __future__ import annotations

import errno
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from support.examples import examples

from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError

NAMES = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.sampled_from(["a", "b", "c", "d", "a", "b", "c", "d", "..", ".", ""])
PLACES = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
RELATIVE = st.lists(STEPS, min_size=1, max_size=6).map("/".join).filter(lambda text: text.strip("/"))
ASKED = st.tuples(
    st.lists(STEPS, min_size=1, max_size=10).map("/".join), st.sampled_from(["", "/", "/.", "//"])
)


@dataclass(frozen=True)
class Made:
    """One thing of a tree; a target that begins with `/` begins at the tree's top."""

    place: str
    kind: str
    target: str = ""


THINGS = st.one_of(
    st.builds(Made, PLACES, st.sampled_from(["directory", "directory", "file"])),
    st.builds(Made, PLACES, st.just("link"), RELATIVE),
    st.builds(Made, PLACES, st.just("link"), RELATIVE.map("/".__add__)),
)
TREES = st.lists(THINGS, max_size=14)


def nested(directory: str) -> str:
    """Return a new directory so deep that no `..` of a tree leaves the temporary one."""
    top = os.path.realpath(directory) + "/z" * 40
    Path(top).mkdir(parents=True)
    return top


def build(top: str, tree: list[Made]) -> None:
    """Make what can be made; later things go through the symlinks of earlier ones."""
    for made in tree:
        path = Path(top, made.place)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if made.kind == "directory":
                path.mkdir()
            elif made.kind == "file":
                path.touch()
            else:
                path.symlink_to(top + made.target if made.target.startswith("/") else made.target)
        except OSError:
            event("a thing of the tree could not be made")


def answer(text: str, base: str) -> str | None:
    try:
        return Resolver(ThisHost(home=base), home=base).resolve(text, base)
    except UnrepresentableError:
        return None


def kernel_error(path: str) -> int:
    try:
        os.stat(path)  # noqa: PTH116 - a `Path` would drop `.`, `//` and the trailing slash
    except OSError as error:
        return error.errno or 0
    return 0


def check(text: str, top: str) -> None:
    real = answer(text, top)
    absolute = os.path.join(top, text)  # noqa: PTH118 - as above
    error = kernel_error(absolute)
    event(errno.errorcode.get(error, "exists"))
    if error == 0:
        assert real == os.path.realpath(absolute, strict=True)
        assert os.path.samestat(os.lstat(real), os.stat(absolute))  # noqa: PTH116 - as above
    elif error == errno.ELOOP:
        assert real is None
    elif real is None:
        # We go on behind something missing, where the kernel stops, and may meet a loop there.
        event("a loop behind something missing")
        assert any(path.is_symlink() for path in Path(top).rglob("*"))
    else:
        assert real == os.path.realpath(absolute)
    if real is not None:
        assert answer(real, top) == real


@settings(max_examples=examples(150), deadline=None)
@given(TREES, st.lists(ASKED, min_size=1, max_size=6))
@example([Made("a", "link", "a")], [("a", ""), ("a/..", ""), ("b/../a", "")])
@example([Made("a", "link", "b/c/d"), Made("b", "link", "/c")], [("a/../x", "/"), ("a/b/../..", "")])
@example([Made("a", "file"), Made("b", "link", "a/..")], [("a/..", ""), ("b", ""), ("a/b", "")])
def test_we_end_up_where_the_kernel_does(tree: list[Made], asked: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as made:
        top = nested(made)
        build(top, tree)
        for steps, end in asked:
            for text in (f"{top}/{steps}{end}", f"{steps.lstrip('/')}{end}"):
                if text:
                    check(text, top)


@settings(max_examples=examples(30), deadline=None)
@given(TREES, st.lists(ASKED, min_size=2, max_size=8))
def test_what_a_resolver_remembers_changes_no_answer(tree: list[Made], asked: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as made:
        top = nested(made)
        build(top, tree)
        shared = Resolver(ThisHost(home=top), home=top)
        for text in (f"{top}/{steps}{end}" for steps, end in asked):
            try:
                again = shared.resolve(text, None)
            except UnrepresentableError:
                again = None
            assert again == answer(text, top)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=40), st.sampled_from([None, "/nowhere/base"]))
def test_every_text_has_a_canonical_real_path_or_is_refused(text: str, base: str | None) -> None:
    resolver = Resolver(ThisHost(home="/nowhere/home"), home="/nowhere/home")
    try:
        real = resolver.resolve(text, base)
    except UnrepresentableError:
        event("refused")
        return
    assert real == os.path.realpath(real)
    assert resolver.resolve(real, None) == real
