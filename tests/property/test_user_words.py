"""Whether a value stands in the user's words is what the specification says, for random messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.oracles import words_oracle

from ironcurtain.enforcement.facts.user.said import said
from ironcurtain.enforcement.facts.user.words import UserWords
from ironcurtain.model.facts import SaidFact

NAMED = SaidFact(source="said", clause="C1", args=("/to",))
NAMES = ["bob", "Bob@Example.com", "bob@example.com", "Ann Lee", "ann", "\uff22ob", "b\u043eb", "~/x/a.txt"]
MARKS = [
    "```",
    "````",
    "~~~",
    "> ",
    ">",
    "\uff1e ",
    "\n",
    "\n\n",
    " ",
    " ",
    ", ",
    ".",
    "(",
    ")",
    "-",
    "@",
    "x",
]
MESSAGES = st.lists(st.lists(st.sampled_from([*NAMES, *MARKS]), max_size=14).map("".join), max_size=3)


@given(st.sampled_from([name for name in NAMES if name[0].isalnum()]), MESSAGES)
def test_a_value_stands_in_what_was_written_where_the_specification_says_so(
    value: str, messages: list[str]
) -> None:
    found = said(NAMED, {"to": value}, UserWords("/home/user", messages))
    assert found is words_oracle.stands(value, messages)
