"""Which directories a model is told of."""

from __future__ import annotations

import pytest

from ironcurtain.compiler.load.clauses import read_clauses
from ironcurtain.compiler.rules.directories import mentioned_directories


@pytest.mark.parametrize(
    ("text", "configured", "known"),
    [
        ("Files in the Downloads folder may be read.", {}, {"Downloads": "~/Downloads"}),
        ("The documents folder is read only.", {}, {"Documents": "~/Documents"}),
        ("Downloadsize is limited.", {}, {}),
        ("Notes in `~/notes` and /srv/data/in.", {}, {"~/notes": "~/notes", "/srv/data/in": "/srv/data/in"}),
        ("The vault is closed.", {"vault": "~/Secret", "attic": "~/attic"}, {"vault": "~/Secret"}),
        ("Downloads may be read.", {"Downloads": "/srv/dl"}, {"Downloads": "/srv/dl"}),
        ("See https://example.com/a/b and and/or.", {}, {}),
    ],
)
def test_only_directories_that_the_constitution_mentions(
    text: str, configured: dict[str, str], known: dict[str, str]
) -> None:
    assert mentioned_directories(read_clauses(text, "c.md"), configured) == known


def test_a_heading_names_directories_too() -> None:
    assert mentioned_directories(read_clauses("# Pictures\n\nMay be read.", "c.md")) == {
        "Pictures": "~/Pictures"
    }
