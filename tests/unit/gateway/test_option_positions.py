"""Values that a program could take for its options are named, and others are not."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from ironcurtain.gateway import cli_command, define_tool
from ironcurtain.gateway.definition import Tool
from ironcurtain.gateway.option_positions import option_positions, unexamined


class Colour(Enum):
    RED = 1
    BLUE = 2


class Given(BaseModel):
    word: str
    more: str | None = None
    many: list[str] = []
    kind: Literal["a", "b"] = "a"
    count: int = 1
    loud: bool = False
    colour: Colour = Colour.RED


BUILDERS: list[tuple[Callable[[Any], list[str]], tuple[str, ...]]] = [
    (lambda given: [given.word], ("word",)),
    (lambda given: ["--", given.word], ()),
    (lambda given: [f"--word={given.word}"], ()),
    (lambda given: ["-n", given.word, "--", given.more], ("word",)),
    (lambda given: [*given.many, "--", given.word], ("many",)),
    (lambda given: [str(given.count), given.kind, given.more or ""], ("more",)),
    (lambda given: [f"{given.word}.txt"], ("word",)),
    (lambda _: [], ()),
    (lambda given: [given.word] if given.loud else [], ("word",)),
    (lambda given: [given.word] if given.kind == "b" else ["--", given.word], ("word",)),
    (lambda given: ["--", given.word] if given.more else [given.word], ("word",)),
    (lambda given: [given.word] if given.colour is Colour.BLUE and given.loud else [], ("word",)),
    (lambda given: given.many or [given.word], ("word", "many")),
    (lambda given: ["--loud"] * given.loud + ["--", given.word], ()),
]


def built_by(build: Callable[[Any], list[str]]) -> Tool:
    return define_tool(
        name="tool",
        description="A tool.",
        classification="read",
        permissions=["public"],
        input=Given,
        output=Given,
        output_policy={".": "allow"},
        handler=cli_command("echo", build),
    )


@pytest.mark.parametrize(("build", "named"), BUILDERS)
def test_values_in_option_position_are_named(
    build: Callable[[Any], list[str]], named: tuple[str, ...]
) -> None:
    tool = built_by(build)
    assert option_positions(tool) == named
    assert unexamined(tool) == ()


def test_arguments_of_a_builder_that_always_fails_are_not_examined() -> None:
    tool = built_by(lambda given: [given.wrod])
    assert option_positions(tool) == ()
    assert unexamined(tool) == tuple(Given.model_fields)
