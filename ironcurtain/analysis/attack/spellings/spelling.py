"""Spellings: other texts and values that a tool, the kernel, git or a browser takes for the same thing.

What a spelling stands for is known from how it was made, and not from the canonicaliser under attack.
"""

from __future__ import annotations

import dataclasses
from enum import Enum

from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field

KERNEL = "the kernel"
TOOLS = "tools"
GIT = "git"
BROWSERS = "browsers"
MAIL = "mail programs"
FILE_SYSTEMS = "file systems that fold case and Unicode forms"

FRESH = "ironcurtain-attack"
"""A file name that no described world is expected to contain."""


class Scene(Enum):
    """What is assumed in addition to the described world."""

    DESCRIBED = ""
    LINKED = "links that somebody laid"
    FOLDED = "a file system that folds case and Unicode forms"


class Spelling(Struct):
    """Another spelling of one value.

    Attributes:
        kind: What was done to it.
        taken_by: Who takes both for the same.
        value: The spelling.
        scene: The world in which they are the same.
        neighbour: Whether only some tools take them for the same: then a call that no rule speaks of, and
            that is denied for that alone, may become one that a rule allows.
    """

    kind: str
    taken_by: str
    value: JsonValue
    scene: Scene = Scene.DESCRIBED
    neighbour: bool = False


@dataclasses.dataclass
class Links:
    """Links that an attacker made, in the order in which they were requested.

    Attributes:
        symbolic: By place, the target's text.
        hard: By place, the file that it is a second name of.
    """

    symbolic: dict[str, str] = dataclasses.field(default_factory=dict)
    hard: dict[str, str] = dataclasses.field(default_factory=dict)
    _known: dict[tuple[str, str, bool], str] = dataclasses.field(default_factory=dict)

    def to(self, target: str, folder: str, *, hard: bool = False) -> str:
        """Return a link in a folder to a target; the same one for the same target."""
        key = (folder, target, hard)
        if key not in self._known:
            place = self._known[key] = f"{folder.rstrip('/')}/{FRESH}/{len(self._known)}"
            (self.hard if hard else self.symbolic)[place] = target
        return self._known[key]


class SpellingContext(Struct):
    """The part of a call's environment that spellings depend on.

    Attributes:
        home: The real home directory.
        root: The real directory that relative paths start from, or None.
        places: Real directories in which an attacker may have made links.
        links: The attacker's links.
        folding_hosts: Hosts whose paths compare without regard to case.
    """

    home: str
    root: str | None
    places: tuple[str, ...] = ()
    links: Links = field(default_factory=Links)
    folding_hosts: frozenset[str] = frozenset()
