"""Which tools a rule's condition is about."""

from __future__ import annotations

import pytest

from ironcurtain.model.conditions import If


@pytest.mark.parametrize(
    ("condition", "server", "tool", "side_effects", "is_about"),
    [
        (If(), "git", "git_push", True, True),
        (If(server=("git", "files")), "git", "git_push", True, True),
        (If(server=("files",)), "git", "git_push", True, False),
        (If(tool=("git_pull", "git_push")), "git", "git_push", True, True),
        (If(server=("git",), tool=("git_pull",)), "git", "git_push", True, False),
        (If(side_effects=True), "git", "git_push", True, True),
        (If(side_effects=True), "git", "git_log", False, False),
        (If(side_effects=False), "git", "git_push", True, False),
        (If(side_effects=False), "git", "git_push", None, True),
    ],
)
def test_a_condition_is_about_a_tool(
    condition: If, server: str, tool: str, side_effects: bool | None, is_about: bool
) -> None:
    assert condition.is_about(server, tool, side_effects=side_effects) is is_about
