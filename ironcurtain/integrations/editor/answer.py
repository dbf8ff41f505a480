"""What is wrong with an answer to a question of a compile: its syntax, and what its schema refuses.

What a schema cannot say is told by the next compile, which knows what the question was about.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jsonschema import Draft202012Validator

from ironcurtain.compiler.llm.chat import document_text
from ironcurtain.errors import BadAnswerError, Place
from ironcurtain.integrations.editor.mistake import Mistake, of_error
from ironcurtain.integrations.editor.texts import Texts
from ironcurtain.system import json_text
from ironcurtain.system.files import MAX_BYTES
from ironcurtain.system.text import visible
from ironcurtain.system.yaml_text import place_of

_ANSWER = ".answer.json"


def answer_mistakes(path: Path, texts: Texts) -> Iterator[Mistake]:
    """Yield the mistakes of `KEY.answer.json`; nothing for a file without a question beside it."""
    question = path.with_name(f"{path.name.removesuffix(_ANSWER)}.json")
    if not path.name.endswith(_ANSWER) or not texts.has(question):
        return
    asked = json_text.members(json_text.parse(texts.read(question), max_bytes=MAX_BYTES))
    schema = json_text.members(asked.get("answer_schema"))
    try:
        text = document_text(texts.read(path), max_bytes=MAX_BYTES)
        content = json_text.parse(text, max_bytes=MAX_BYTES)
    except json_text.MalformedJsonError as error:
        where = Place(str(path), error.line, error.column)
        yield from _bad(f"not valid JSON: {visible(str(error))}", where, path, texts)
        return
    for unfit in Draft202012Validator(schema).iter_errors(content):
        where = place_of(text, str(path), list(unfit.absolute_path))
        yield from _bad(visible(f"{unfit.json_path}: {unfit.message}"), where, path, texts)


def _bad(what: str, where: Place, path: Path, texts: Texts) -> list[Mistake]:
    return of_error(BadAnswerError(what, where=where), path, texts)
