"""Stage 4, resolve lists: which read-only tool of which server fills a list, and where its values stand.

One question for all lists. The answer is data: server, tool, arguments, a pointer into the result. It is
checked here, and `resolve.py` calls the tool. The purpose of the prompt is to choose a source; its
inputs are the lists with their clauses and the tools that may be called; the ways in which it can fail are
a tool that writes, a list of people taken from what strangers sent, and a place that does not exist.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for
from pydantic import Field

from ironcurtain.compiler.annotate.schema_leaves import argument_schemas
from ironcurtain.compiler.llm.question import Question
from ironcurtain.compiler.questions.answers import BatchedQuestion
from ironcurtain.compiler.questions.schema_parts import (
    STRING,
    Schema,
    array_of,
    closed_object,
    objects,
    one_of,
    read_answer,
)
from ironcurtain.compiler.questions.templates import as_data, fill
from ironcurtain.decision.canonical import pointers
from ironcurtain.servers.tools import ToolListing
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import quoted, visible

_RECEIVED = re.compile(
    r"(?<![a-z])(?:inbox|received?|incoming|unread|from|sender|senders|reply[ _-]?to|spam|junk)(?![a-z])"
)
_SENT = re.compile(r"(?<![a-z])(?:sent|outbox|contacts?|address[ _-]?book|directory|members?)(?![a-z])")
_POINTER = re.compile(r"(?:/(?:[^/~]|~[01])*)*")
_JSON_LIMIT = 65_536
_STAGE = "lists"
_KINDS = ("resolved", "by_hand")


class WantedList(Struct):
    """A list to be resolved.

    Attributes:
        clause: The words of the clause that asks for it, or nothing.
    """

    name: str
    type: str
    clause: str


class ListTool(Struct):
    """A tool that could fill a list.

    Attributes:
        read_only: Whether its annotation, made for the tool as it is, says that it changes nothing, or a
            person confirmed it.
    """

    server: str
    tool: ToolListing
    read_only: bool


class GivenArgument(Frozen):
    """One argument of the call that fills a list, its value as JSON text."""

    name: str
    json_: str = Field(alias="json")


class ListSource(Frozen):
    """Where the values of a list come from.

    Attributes:
        arguments: What the tool is called with.
        values: A JSON pointer into the tool's result.
    """

    list_name: str = Field(alias="list")
    server: str
    tool: str
    arguments: tuple[GivenArgument, ...]
    values: str

    def parsed_arguments(self) -> dict[str, JsonValue]:
        """Return the arguments of the call.

        Raises:
            MalformedJsonError: If one is no JSON.
        """
        return {given.name: json_text.parse(given.json_, max_bytes=_JSON_LIMIT) for given in self.arguments}


class KeptByHand(Frozen):
    """A list that no tool can fill, and why."""

    list_name: str = Field(alias="list")
    reason: str


class ListsAnswer(Frozen):
    """The content of an answer: each list is in one of the two."""

    resolved: tuple[ListSource, ...]
    by_hand: tuple[KeptByHand, ...]


def lists_question(wanted: Sequence[WantedList], candidates: Sequence[ListTool]) -> Question:
    """Ask how lists can be resolved with these tools."""
    tools = {(item.server, item.tool.name): item.tool for item in candidates}
    return Question(
        stage=_STAGE,
        key=_STAGE,
        system=fill("lists.system"),
        prompt=fill(
            "lists.user",
            count=str(len(wanted)),
            lists=as_data(
                [{"list": item.name, "type": item.type, "asked_for_by": item.clause} for item in wanted]
            ),
            tools=as_data([_tool_data(item) for item in candidates]),
        ),
        schema=_schema([item.name for item in wanted], tools),
        check=lambda content: _mistakes(content, wanted, tools),
        about=f"how these lists are filled: {', '.join(item.name for item in wanted)}",
    )


def batched_lists_question(wanted: Sequence[WantedList], candidates: Sequence[ListTool]) -> BatchedQuestion:
    """Ask about several lists at once; what is kept are answers about each."""
    parts = tuple(replace(lists_question([item], candidates), key=f"{_STAGE}-{item.name}") for item in wanted)

    def divide(content: JsonValue) -> list[JsonValue]:
        entries = _entries(content) or {}
        return [{kind: [*_about(entries[kind], {item.name})] for kind in _KINDS} for item in wanted]

    def narrow(content: JsonValue) -> JsonValue:
        entries = _entries(content)
        if entries is None:
            return content
        names = {item.name for item in wanted}
        return {kind: [*_about(entries[kind], names)] for kind in _KINDS}

    question = replace(lists_question(wanted, candidates), parts=tuple(part.digest for part in parts))
    return BatchedQuestion(question, parts, divide, narrow)


def _entries(content: JsonValue) -> dict[str, list[dict[str, JsonValue]]] | None:
    """Return the entries of an answer by their kind, None if it has another form."""
    if not isinstance(content, dict):
        return None
    entries = {kind: items for kind in _KINDS if (items := objects(content.get(kind) or [])) is not None}
    return entries if len(entries) == len(_KINDS) else None


def _about(entries: Iterable[dict[str, JsonValue]], names: Collection[JsonValue]) -> Iterator[JsonValue]:
    return (entry for entry in entries if entry.get("list") in names)


def _tool_data(candidate: ListTool) -> dict[str, JsonValue]:
    tool = candidate.tool
    return {
        "server": candidate.server,
        "tool": tool.name,
        "read_only": candidate.read_only,
        "description": tool.description,
        "input_schema": tool.input_schema,
    }


def _schema(names: Sequence[str], tools: Mapping[tuple[str, str], ToolListing]) -> Schema:
    by_hand = closed_object({"list": one_of(names), "reason": STRING})
    resolved = closed_object(
        {
            "list": one_of(names),
            "server": one_of(sorted({server for server, _ in tools})) if tools else STRING,
            "tool": one_of(sorted({name for _, name in tools})) if tools else STRING,
            "arguments": array_of(closed_object({"name": STRING, "json": STRING})),
            "values": STRING,
        }
    )
    return closed_object({"resolved": array_of(resolved), "by_hand": array_of(by_hand)})


def _mistakes(
    content: JsonValue, wanted: Sequence[WantedList], tools: Mapping[tuple[str, str], ToolListing]
) -> list[str]:
    """Return what is wrong with an answer that fits its schema."""
    answer = read_answer(ListsAnswer, content)
    counts = Counter(
        [*(source.list_name for source in answer.resolved), *(kept.list_name for kept in answer.by_hand)]
    )
    mistakes = [
        f"list {quoted(item.name)} is given {counts[item.name]} times, not once"
        for item in wanted
        if counts[item.name] != 1
    ]
    types = {item.name: item.type for item in wanted}
    for source in answer.resolved:
        tool = tools.get((source.server, source.tool))
        wrong = (
            _source_mistakes(source, tool, types[source.list_name])
            if tool
            else [f"the server {quoted(source.server)} has no tool {quoted(source.tool)}"]
        )
        mistakes += [f"list {quoted(source.list_name)}: {mistake}" for mistake in wrong]
    return mistakes


def _source_mistakes(source: ListSource, tool: ToolListing, kind: str) -> list[str]:
    try:
        arguments = source.parsed_arguments()
    except json_text.MalformedJsonError as error:
        return [f"an argument is no JSON text: {visible(str(error))}"]
    mistakes = argument_mistakes(tool, arguments)
    if not _POINTER.fullmatch(source.values):
        mistakes.append(f"{quoted(source.values)} is no JSON pointer")
    if kind == "recipient" and (word := received_word(tool, arguments, source.values)):
        mistakes.append(
            f"{quoted(word)} speaks of what was received; take people from what was sent, or from an address "
            "book, or leave the list to a person"
        )
    return mistakes


def argument_mistakes(tool: ToolListing, arguments: dict[str, JsonValue]) -> list[str]:
    """Return how arguments do not fit the input schema of their tool."""
    validator = validator_for(tool.input_schema, default=Draft202012Validator)(tool.input_schema)
    errors = validator.iter_errors(arguments)
    known = argument_schemas(tool.input_schema)
    unknown = [f"there is no argument {quoted(name)}" for name in arguments if name not in known]
    return unknown + [visible(f"argument {error.json_path}: {error.message}")[:300] for error in errors]


def received_word(tool: ToolListing, arguments: dict[str, JsonValue], pointer: str) -> str | None:
    """Return the word that shows that values come from what was received, or None if there is none.

    Looked at are the tool's name, texts among the arguments, the pointer's steps and, unless it speaks
    of what was sent or of contacts too, the tool's description.
    """
    steps = [_spaced(step) for step in pointers.tokens(pointer)]
    texts = [leaf for _, leaf in pointers.leaves(arguments) if isinstance(leaf, str)]
    looked_at = [_spaced(tool.name), *texts, *steps]
    description = tool.description.lower()
    if not any(_SENT.search(text) for text in (description, *(text.lower() for text in looked_at))):
        looked_at.append(description.replace(" from ", " "))
    return next((found[0] for text in looked_at if (found := _RECEIVED.search(text.lower()))), None)


def _spaced(name: str) -> str:
    """Separate the words of a name: `listInbox` and `list_nameinbox` become `list Inbox`, `list inbox`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_.:/-]", " ", name)
