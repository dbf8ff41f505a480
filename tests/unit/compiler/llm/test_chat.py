"""Answers as chats give them: fenced, introduced by a sentence, given twice."""

from __future__ import annotations

import pytest

from ironcurtain.compiler.llm.chat import document_text, read_document
from ironcurtain.system.json_text import MalformedJsonError

FENCED = 'Here is the answer:\n\n```json\n{\n  "n": 3\n}\n```\n\nTell me if I should change something.\n'


@pytest.mark.parametrize(
    "text",
    [
        '{"n": 3}',
        FENCED,
        FENCED.replace("\n", "\r\n"),
        '```\n{"n": 3}\n```',
        '~~~~ json\n{"n": 3}\n~~~~',
        '- as follows\n\n   ```JSON title="answer"\n   {"n": 3}\n   ```',
        'Sure! Here it is:\n{"n": 3}',
        'Sure.\n{"n": 3}\nI kept the order of the rules.',
        'I ran\n```sh\nironcurtain answer\n```\nand so:\n```json\n{"n": 3}\n```',
        FENCED + 'Once more, in one line:\n```json\n{"n":3}\n```\n',
        '```json\n{"n": 3}',
    ],
)
def test_one_document_is_read_whatever_stands_around_it(text: str) -> None:
    assert read_document(text) == {"n": 3}


@pytest.mark.parametrize("line", ["~" * 20_000 + "`", "```" + "a" * 200_000 + "`"])
def test_a_long_line_that_is_nearly_a_fence_is_given_up_at_once(line: str) -> None:
    assert read_document(f"{line}\n{FENCED}") == {"n": 3}


def test_two_different_documents_are_an_error_that_names_their_lines() -> None:
    with pytest.raises(MalformedJsonError) as caught:
        read_document(FENCED + 'Or rather:\n```json\n{"n": 4}\n```\n')
    assert str(caught.value) == (
        "two different JSON documents, in lines 4-6 and in line 12: leave the one that counts"
    )


def test_a_document_beside_a_fence_counts_too() -> None:
    with pytest.raises(MalformedJsonError, match="in line 1 and in line 3"):
        read_document('{"n": 4}\n```json\n{"n": 3}\n```\n')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('```json\n{"n": 3,}\n```', "the JSON in line 2"),
        ('So:\n```json\n{"n": 3, "n": 4}\n```', "duplicate key"),
        ('So:\n{"n": 3', "the JSON in line 2"),
        ("I cannot answer this.", "line 1"),
        ("```json\n```", "the JSON in line 2"),
        ("", "line 1"),
    ],
)
def test_what_is_no_document_is_an_error(text: str, said: str) -> None:
    with pytest.raises(MalformedJsonError, match=said):
        read_document(text)


def test_mistakes_have_the_lines_of_the_whole_text() -> None:
    with pytest.raises(MalformedJsonError, match="at line 3 column 9") as caught:
        read_document('So:\n```json\n{"n": 3,}\n```')
    assert (caught.value.line, caught.value.column) == (3, 9)
    assert document_text('So:\n```json\n{"n": 3}\n```').splitlines() == ["", "", '{"n": 3}']
