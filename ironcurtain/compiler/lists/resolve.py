"""Stage 4, resolve lists: calling the chosen tools and taking the values from what they return.

Nothing that a server returns is taken on trust: every value must be one canonical address, domain or
identifier. A value with a `*` would be a pattern that covers others, so a server can never give one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ironcurtain.compiler.lists.edit import Edited, canonical_value, check_type, with_list
from ironcurtain.compiler.lists.question import (
    ListsAnswer,
    ListSource,
    ListTool,
    WantedList,
    argument_mistakes,
    batched_lists_question,
    received_word,
)
from ironcurtain.compiler.llm.question import Answer, Question
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.questions.answers import AnswerCache, BatchedQuestion
from ironcurtain.compiler.questions.schema_parts import read_answer
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.decide import is_drifted
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import IronCurtainError, ListError, OpenQuestionError, PatternError, raise_all
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists, NamedList, Resolution
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.launching import ServerLauncher
from ironcurtain.servers.tools import ToolListing, Tools, tool_digest
from ironcurtain.system.frozen import JsonValue, is_integer
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

MAX_VALUES = 10_000
_SHOWN = 5


class ListContext(Struct):
    """What lists are resolved against.

    Attributes:
        launcher: Starts servers whose tools are called.
        annotations: The published annotations, if there are any yet.
        confirmed: Tools that a person confirmed to be read-only, as `server/tool`.
        ask_again: Whether to choose tools anew for lists that were resolved before.
    """

    servers: ServerConfig
    tools: Tools
    launcher: ServerLauncher
    annotations: Annotations | None
    clauses: tuple[PlacedClause, ...]
    registry: Registry
    confirmed: frozenset[str]
    ask_again: bool = False


def refresh(lists: Lists, names: Sequence[str], context: ListContext, cache: AnswerCache) -> Edited:
    """Resolve lists anew; what people added and removed stays.

    A list that was resolved before is resolved in the same way again, if its tool is as it was; all
    others make one question.

    Raises:
        ListError: For an unknown name or type, a changed tool, or a source that is none for people.
        OpenQuestionError: If a tool has to be confirmed by a person, or an answer waits.
        ServerFailedError: If a tool cannot be called or answers nothing usable.
    """
    for name in names:
        if name not in lists.lists:
            raise ListError(
                f"there is no list {quoted('@' + name)}", hint="Give its --type to make a new one."
            )
        check_type(lists.lists[name].type, context.registry)
    known = {
        name: found
        for name in names
        if (found := lists.lists[name].resolution) is not None and not context.ask_again
    }
    chosen, by_hand = _choose(lists, [name for name in names if name not in known], context, cache)
    resolutions = {**known, **chosen}
    raise_all(
        [problem for name, each in resolutions.items() for problem in _problems(name, each, lists, context)]
    )
    lines = [f"@{name} is to be kept by hand: {reason}" for name, reason in by_hand.items()]
    for name in names:
        if name in resolutions:
            lists, more = _resolve(lists, name, resolutions[name], context)
            lines += more
    return Edited(lists, tuple(lines), by_hand)


def keep_answers(lists: Lists, names: Sequence[str], context: ListContext, cache: AnswerCache) -> None:
    """Keep the answers by which lists were resolved in use, where they still answer what would be asked."""
    tools = candidates(context)
    for question in (
        batched_lists_question(_wanted(lists, names, context), tools).parts if names and tools else ()
    ):
        if cache.has(question):
            cache.ask([question])


def _choose(
    lists: Lists, names: Sequence[str], context: ListContext, cache: AnswerCache
) -> tuple[dict[str, Resolution], dict[str, str]]:
    """Ask how lists can be resolved; return the resolutions, and the reasons of lists that cannot be."""
    if not names:
        return {}, {}
    tools = candidates(context)
    if not tools:
        raise OpenQuestionError(
            "no tool is known to only read, so none can be called",
            hint="Compile first, which annotates the tools, or name one with --confirm SERVER/TOOL.",
        )
    resolutions: dict[str, Resolution] = {}
    by_hand: dict[str, str] = {}
    for answer in _ask(_wanted(lists, names, context), tools, cache):
        content = read_answer(ListsAnswer, answer.content)
        by_hand |= {kept.list_name: visible(kept.reason) for kept in content.by_hand}
        resolutions |= {source.list_name: _resolution(source, answer, context) for source in content.resolved}
    return resolutions, by_hand


def _wanted(lists: Lists, names: Sequence[str], context: ListContext) -> list[WantedList]:
    clauses = {placed.clause.id: placed.clause.text for placed in context.clauses}
    return [WantedList(n, lists.lists[n].type, clauses.get(lists.lists[n].source, "")) for n in names]


def _ask(wanted: Sequence[WantedList], tools: Sequence[ListTool], cache: AnswerCache) -> list[Answer]:
    """Return an answer about each list; those that are not kept are asked about in one question."""
    by_digest = {
        p.digest: w for p, w in zip(batched_lists_question(wanted, tools).parts, wanted, strict=True)
    }

    def join(missing: Sequence[Question]) -> list[BatchedQuestion]:
        return (
            [batched_lists_question([by_digest[part.digest] for part in missing], tools)] if missing else []
        )

    return cache.ask_joint(batched_lists_question(wanted, tools).parts, join)


def candidates(context: ListContext) -> list[ListTool]:
    """Return the tools that a model may choose from.

    Those annotated to change nothing, those that a person confirmed, and those whose server claims that
    they only read, which count for nothing until a person confirms them.
    """
    tools = []
    for server, listed in context.tools.items():
        if server in context.servers.servers and not context.servers.servers[server].command:
            continue
        for tool in listed:
            read_only = _is_read_only(server, tool, context)
            if read_only or tool.annotations.get("readOnlyHint") is True:
                tools.append(ListTool(server, tool, read_only))
    return tools


def _is_read_only(server: str, tool: ToolListing, context: ListContext) -> bool:
    annotation = context.annotations.find(server, tool.name) if context.annotations else None
    return f"{server}/{tool.name}" in context.confirmed or (
        annotation is not None
        and not annotation.side_effects
        and not is_drifted(annotation, tool_digest(tool), tool.listing_digest)
    )


def _resolution(source: ListSource, answer: Answer, context: ListContext) -> Resolution:
    tool = _live(source.server, source.tool, context.tools)
    return Resolution(
        server=source.server,
        tool=source.tool,
        arguments=source.parsed_arguments(),
        values=source.values,
        schema_digest=tool_digest(tool) if tool else "",
        confirmed=f"{source.server}/{source.tool}" in context.confirmed,
        answered_by=f"{answer.provider}:{answer.model}" if answer.model else answer.provider,
    )


def _problems(name: str, chosen: Resolution, lists: Lists, context: ListContext) -> list[IronCurtainError]:
    """Return why the tool of a resolution must not be called, whoever chose it."""
    where = f"{chosen.server}/{chosen.tool}"
    tool = _live(chosen.server, chosen.tool, context.tools)
    if tool is None or tool_digest(tool) != chosen.schema_digest:
        state = "does not exist" if tool is None else "is not as it was when the list was resolved"
        return [
            ListError(
                f"@{name}: the tool {quoted(where)} {state}",
                hint="Choose anew: `ironcurtain lists refresh --ask-again`.",
            )
        ]
    mistakes = argument_mistakes(tool, chosen.arguments)
    if lists.lists[name].type == "recipient" and (
        word := received_word(tool, chosen.arguments, chosen.values)
    ):
        mistakes.append(f"{quoted(word)} speaks of what was received, and people come from what was sent")
    problems: list[IronCurtainError] = [ListError(f"@{name}: {each}", where=where) for each in mistakes]
    if not (chosen.confirmed or _is_read_only(chosen.server, tool, context)):
        problems.append(
            OpenQuestionError(
                f"@{name} would be resolved by calling {quoted(where)}, and nobody said that it only reads",
                hint=f"If it does, say so: `ironcurtain lists refresh {name} --confirm {where}`.",
            )
        )
    return problems


def _live(server: str, tool: str, tools: Tools) -> ToolListing | None:
    return next((each for each in tools.get(server, ()) if each.name == tool), None)


def _resolve(lists: Lists, name: str, chosen: Resolution, context: ListContext) -> tuple[Lists, list[str]]:
    from ironcurtain.servers.call import call_tool  # noqa: PLC0415 - the SDK takes a second to load

    named = lists.lists[name]
    annotated = context.annotations.servers.get(chosen.server) if context.annotations else None
    varying = annotated.varying if annotated is not None else ()

    def is_chosen(listed: ToolListing) -> bool:
        return tool_digest(listed.settled(varying)) == chosen.schema_digest

    result = call_tool(
        context.servers, context.launcher, chosen.server, chosen.tool, chosen.arguments, is_chosen
    )
    values, notes = take_values(result, chosen.values, named, context.registry)
    fresh = named.model_copy(update={"resolved": values, "resolution": chosen})
    edited = with_list(lists, name, fresh)
    heading = f"@{name}: {len(values)} values from {chosen.server}/{chosen.tool}"
    return edited.lists, [heading, *edited.lines, *(f"@{name}: {note}" for note in notes)]


def take_values(
    result: JsonValue, pointer: str, named: NamedList, registry: Registry
) -> tuple[tuple[str, ...], list[str]]:
    """Take a list's values from a tool's result.

    Returns:
        The values in canonical form, sorted, each once; and a note for what was passed over.

    Raises:
        ListError: If there are more than `MAX_VALUES`.
    """
    results = [value for _, value in pointers.matches(result, pointers.tokens(pointer))]
    if len(results) > MAX_VALUES:
        raise ListError(f"the tool returned {len(results):,} values; a list holds at most {MAX_VALUES:,}")
    values: set[str] = set()
    passed_over: list[str] = []
    for value in results:
        try:
            values.add(_one_value(value, named.type, registry))
        except PatternError as error:
            passed_over.append(error.what)
    notes = [f"passed over: {what}" for what in passed_over[:_SHOWN]]
    if len(passed_over) > _SHOWN:
        notes.append(f"passed over: {len(passed_over) - _SHOWN} more")
    if not results:
        notes.append(f"the pointer {quoted(pointer)} names nothing in the tool's result")
    return tuple(sorted(values)), notes


def _one_value(value: JsonValue, kind: str, registry: Registry) -> str:
    if is_integer(value):
        identifier = registry[kind].identifier if kind in registry else None
        value = str(value) if identifier and identifier.numbers else value
    if not isinstance(value, str):
        raise PatternError(f"a value that is no text ({type(value).__name__})")
    canonical = canonical_value(kind, value, registry)
    if "*" in canonical:
        raise PatternError(f"{quoted(value)}, which would cover others than itself")
    return canonical
