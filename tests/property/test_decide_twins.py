"""A described world and the directory built from it prepare the same calls to the same outcome."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.called import bundle, described, load
from support.examples import examples
from support.projects.policies import rule, tool

from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.model.scenarios import DescribedWorld

TOOLS = [
    tool("read", path=["read-path"], note=["none"]),
    tool("write", path=["write-path"]),
    tool("gone", path=["delete-path"]),
    tool("both", path={"roles": ["read-path", "write-path"], "codec": "json-or-comma"}),
]
STEPS = st.sampled_from(["sandbox", "d", "link", "file", "key", "..", ".", "", "none", "~", ".git"])
TEXTS = st.lists(STEPS, min_size=1, max_size=6).map("/".join)
PLACES = st.lists(st.sampled_from(["sandbox", "d"]), max_size=2).map("/".join)
LINKS = st.dictionaries(PLACES.map(lambda p: f"{p}/link"), TEXTS.filter(bool), max_size=3)
FILES = st.dictionaries(PLACES.map(lambda p: f"{p}/file"), st.integers(1, 2), max_size=3)


def make(world: DescribedWorld, spare: str) -> None:
    for place in (world.home, world.sandbox or "", *world.protected):
        Path(place).mkdir(parents=True, exist_ok=True)
    for place, target in world.symlinks.items():
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).symlink_to(target)
    for number, (place, file) in enumerate(world.files.items()):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        Path(place).touch()
        for link in range(1, file.links):
            os.link(place, f"{spare}/{number}-{link}")


def outcome(found: Any) -> Any:
    if isinstance(found, Prepared):
        return found.input, found.minimum
    return found.rule, found.reason, found.subjects, found.arguments


@settings(max_examples=examples(30), deadline=None)
@given(
    LINKS, FILES, st.lists(st.tuples(st.sampled_from(["read", "write", "gone", "both"]), TEXTS), max_size=8)
)
def test_the_twins_prepare_the_same(
    links: dict[str, str], files: dict[str, int], calls: list[tuple[str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as spare:
        top = os.path.realpath(made) + "/z" * 8  # so deep that no `..` leaves the temporary directory
        world = described(
            home=top,
            sandbox=f"{top}/sandbox",
            protected=(f"{top}/key", f"{top}/.ironcurtain"),
            symlinks={f"{top}/{p}": f"{top}{t}" if t.startswith("/") else t for p, t in links.items()},
            files={f"{top}/{p}": {"links": n} for p, n in files.items()},
        )
        make(world, spare)
        rules = [
            rule("d", "allow", paths={"roles": ["read-path"], "within": [f"{top}/d", f"{top}/sandbox/d"]})
        ]
        content = bundle({"s": TOOLS}, rules)
        memory, disk = load(content, world), load(content, world, ThisHost(home=top))
        for name, text in calls:
            for spelled in (text, f"{top}/{text}", f"~/{text}"):
                call = Call("s", name, {"path": spelled} | ({"note": spelled} if name == "read" else {}))
                assert outcome(prepare(call, memory)) == outcome(prepare(call, disk)), spelled
