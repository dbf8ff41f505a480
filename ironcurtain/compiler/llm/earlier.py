"""The last answer to an earlier form of a question: what changed since, and the answer in the new names.

What a question tells (its clauses) has names (`C7`) that move when something is inserted. A name is found
again by its text; a text that was edited, by how much of it is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from pydantic import Field

from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import visible

_SIMILAR = 0.6


class Earlier(Frozen):
    """An answer to an earlier form of a question.

    Attributes:
        content: What was answered.
        told: What that form told, by name.
    """

    content: JsonValue
    told: dict[str, str] = Field(default_factory=dict)


@dataclass(frozen=True)
class Changes:
    """What a question tells now and did not tell in the same words before.

    Attributes:
        names: The name that each text has now, by the name that it had; without texts that are gone.
        edited: Old and new words, by the new name.
        added: Texts that are new, by name.
        removed: Texts that are gone, by the name that they had.
    """

    names: Mapping[str, str]
    edited: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    added: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[str, ...]:
        """The changes as lines of a difference: `- C7: old words`, `+ C7: new words`."""
        was = {new: old for old, new in self.names.items()}
        lines = [
            line
            for name, (old, new) in self.edited.items()
            for line in (f"- {was[name]}: {visible(old)}", f"+ {name}: {visible(new)}")
        ]
        lines += [f"- {name}: {visible(text)}" for name, text in self.removed.items()]
        return tuple(lines + [f"+ {name}: {visible(text)}" for name, text in self.added.items()])


def changes(then: Mapping[str, str], now: Mapping[str, str]) -> Changes:
    """Return what changed between two tellings, each text by its name.

    A text is the same one if its words are the same, else if at least 60 of 100 of its characters are.
    """
    old, new = dict(then), dict(now)
    names: dict[str, str] = {}
    for name in list(old):
        same = name if new.get(name) == old[name] else next((n for n in new if new[n] == old[name]), None)
        if same is not None:
            names[name] = same
            del old[name], new[same]
    edited = {}
    for name, text in list(old.items()):
        near = _nearest(text, new)
        if near is not None:
            names[name] = near
            edited[near] = (text, new.pop(near))
            del old[name]
    return Changes(names, edited, added=new, removed=old)


def _nearest(text: str, candidates: Mapping[str, str]) -> str | None:
    """Return the name of the text that is most like this one, if one is like it at all."""
    ratios = {name: SequenceMatcher(None, text, other).ratio() for name, other in candidates.items()}
    best = max(ratios, key=lambda name: ratios[name], default=None)
    return best if best is not None and ratios[best] >= _SIMILAR else None
