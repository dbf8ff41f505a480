"""A live server compared with its annotations: what differs, and the words for it.

    comparison = compare(content.annotations.servers.get("notes"), listed, recorded)
    [withheld_words("notes", each) for each in comparison.deviations]

Whoever holds what a server tells against what was annotated asks here: the proxy, `drift`, `doctor`, a
compile. What differs is withheld from clients: a tool or a prompt is hidden, instructions are not passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from pydantic import ValidationError

from ironcurtain.decision.decide import is_drifted
from ironcurtain.decision.reserved_tools import is_reserved
from ironcurtain.model.annotations import Annotations, ServerAnnotations, ToolAnnotation
from ironcurtain.model.varying import Varying, settled
from ironcurtain.servers.tools import ListedServer, ToldBeside, ToolListing, Tools, tool_digest
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

Part = Literal["description", "schema", "listing"]

FATES = {"added": "new", "gone": "gone", "changed": "changed"}
"""What became of a thing, in words."""

_AROUND = 24
_SHOWN = 60
_ENDS = re.compile(r"[\s'\"`()<>\[\]{},;]")
_NAME = re.compile(r"[A-Za-z0-9._:/+@-]{1,100}")
_PATH = "/[A-Za-z0-9._/-]*"


class Deviation(Frozen):
    """One thing that a server tells otherwise than it was annotated.

    Attributes:
        what: Which kind of thing it is.
        name: Of the tool or prompt; empty for instructions.
        kind: `added` was not there when the server was annotated, `gone` is not there any more,
            `undigested` has an annotation without a digest.
        changed: What of a tool is different; `listing` is whatever else clients are told: title, hints,
            output schema, icons.
        difference: The first place where the texts differ, quoted; empty where the text that was annotated
            is not there to compare with.
        varying: What a person confirms if the text depends on where the server runs; None where that does
            not come to the text that was annotated.
    """

    what: Literal["tool", "prompt", "instructions"]
    name: str = ""
    kind: Literal["added", "gone", "changed", "undigested"]
    changed: tuple[Part, ...] = ()
    difference: str = ""
    varying: Varying | None = None

    @property
    def shown(self) -> str:
        """What it is, for people."""
        return "its instructions" if self.what == "instructions" else f"{self.what} {quoted(self.name)}"


class Comparison(Struct):
    """A live server beside its annotations.

    Attributes:
        deviations: What differs, tools first.
        unchanged: How many tools are as they were annotated.
        undigested: Tools whose annotations hold no digest, so that nobody can tell; the proxy hides them.
        unpinned: `instructions` or `prompts` that were not read when the server was annotated; nobody can
            tell, and clients get them as they are.
    """

    deviations: tuple[Deviation, ...]
    unchanged: int
    undigested: tuple[Deviation, ...]
    unpinned: tuple[str, ...]


def compare(
    annotated: ServerAnnotations | None, live: ListedServer, recorded: ListedServer | None = None
) -> Comparison:
    """Compare what a server lists now with its annotations.

    Args:
        annotated: The server's annotations; None where it has none.
        live: The server.
        recorded: What it listed when it was annotated, to quote from; only what the digests vouch for is
            taken from it.
    """
    annotated = annotated or ServerAnnotations(tools=())
    live = live.settled(annotated.varying)
    known = {tool.tool: tool for tool in annotated.tools if not is_reserved(tool)}
    now = {tool.name: tool for tool in live}
    before = {tool.name: tool for tool in recorded or () if _is_annotated(tool, known.get(tool.name))}
    deviations: list[Deviation] = []
    undigested: list[Deviation] = []
    for name in sorted(known.keys() | now.keys()):
        deviation = _of_tool(name, known.get(name), now.get(name), before.get(name))
        if deviation is not None:
            deviations.append(deviation)
        elif known[name].schema_digest is None:
            undigested.append(Deviation(what="tool", name=name, kind="undigested"))
    unchanged = len(known.keys() | now.keys()) - len(deviations) - len(undigested)
    unpinned: tuple[str, ...] = ()
    if live.beside is not None:
        deviations += of_instructions(annotated, live.beside.instructions, recorded)
        deviations += of_prompts(annotated, live.beside.prompts, recorded)
        unpinned = tuple(_unpinned(annotated, live.beside))
    return Comparison(tuple(deviations), unchanged, tuple(undigested), unpinned)


def as_annotated(tools: Tools, annotations: Annotations) -> Tools:
    """Return listed servers with their texts that vary as they were when the servers were annotated."""
    varying = {server: annotated.varying for server, annotated in annotations.servers.items()}
    return {server: listed.settled(varying.get(server, ())) for server, listed in tools.items()}


def of_instructions(
    annotated: ServerAnnotations | None, text: str, recorded: ListedServer | None = None
) -> Iterator[Deviation]:
    """Yield how a server's instructions differ from those that are pinned, if they are."""
    if annotated is None or annotated.instructions is None:
        return
    now = ToldBeside(instructions=text).settled(annotated.varying).instructions
    if instructions_digest(now) == annotated.instructions:
        return
    beside = recorded.beside if recorded is not None else None
    is_vouched = beside is not None and instructions_digest(beside.instructions) == annotated.instructions
    before = beside.instructions if beside is not None and is_vouched else None
    yield Deviation(
        what="instructions",
        kind="changed" if now else "gone",
        difference=_difference(before, now),
        varying=_varying(before, now),
    )


def of_prompts(
    annotated: ServerAnnotations | None,
    prompts: Iterable[Mapping[str, JsonValue]],
    recorded: ListedServer | None = None,
) -> Iterator[Deviation]:
    """Yield the prompts that are not those that are pinned, if they are."""
    if annotated is None or annotated.prompts is None:
        return
    beside = recorded.beside if recorded is not None else None
    before = {
        str(each.get("name")): each
        for each in (beside.prompts if beside is not None else ())
        if annotated.prompts.get(str(each.get("name"))) == prompt_digest(each)
    }
    names = set()
    for told in prompts:
        now, name = settled(told, annotated.varying), str(told.get("name"))
        names.add(name)
        if name not in annotated.prompts:
            yield Deviation(what="prompt", name=name, kind="added")
        elif prompt_digest(now) != annotated.prompts[name]:
            old = before.get(name)
            texts = (_text(old) if old is not None else None, _text(now))
            described = (_described(old) if old is not None else None, _described(now))
            yield Deviation(
                what="prompt",
                name=name,
                kind="changed",
                difference=_difference(*texts),
                varying=_varying(*described),
            )
    yield from (
        Deviation(what="prompt", name=name, kind="gone") for name in sorted(annotated.prompts.keys() - names)
    )


def instructions_digest(text: str) -> str:
    """Return what pins a server's instructions."""
    return json_text.digest(text)


def prompt_digest(told: Mapping[str, JsonValue]) -> str:
    """Return what pins a prompt: all that clients are told of it."""
    return json_text.digest(dict(told))


def withheld_words(server: str, deviation: Deviation) -> str:
    """Say what is withheld from clients, why, and what a person can do; empty where nothing is."""
    if deviation.kind == "gone":
        return ""
    if deviation.what == "instructions":
        held = f"the instructions of server {server} are not passed on"
    else:
        held = f"{deviation.shown} of server {server} is hidden"
    if deviation.kind == "undigested":
        return f"{held}: its annotation was written by hand, and holds no digest (`schema_digest`)"
    if deviation.kind == "added":
        return f"{held}: nobody annotated it; run `ironcurtain annotate {server}`, then compile"
    return f"{held}: {reason(deviation)}; {remedy(server, deviation)}"


def reason(deviation: Deviation) -> str:
    """Say what of a thing that changed is not as it was annotated."""
    names = {"listing": "what else clients are told of it (title, hints, output schema, icons)"}
    parts = " and ".join(names.get(part, f"its {part}") for part in deviation.changed)
    if deviation.what == "instructions":
        parts = "they"
    verb = "differ" if deviation.what == "instructions" or len(deviation.changed) > 1 else "differs"
    more = f" ({deviation.difference})" if deviation.difference else ""
    return f"{parts or 'what clients are told of it'} {verb} from what was annotated{more}"


def remedy(server: str, deviation: Deviation) -> str:
    """Say what a person does about a thing that changed."""
    return f"read it (`ironcurtain drift`), annotate and compile; {confirm_line(server, deviation.varying)}"


def confirm_line(server: str, varying: Varying | None) -> str:
    """Say how a person confirms a text that depends on where its server runs."""
    where = "if the text depends on where the server runs, confirm it under `varying` in confirmations.yaml"
    if varying is None:
        return where
    entry = {"server": server, **varying.model_dump(mode="json"), "by": "…", "reason": "…"}
    return f"{where}: {json_text.canonical(entry).decode()}"


def _is_annotated(tool: ToolListing, known: ToolAnnotation | None) -> bool:
    return known is not None and tool_digest(tool) == known.schema_digest


def _of_tool(
    name: str, known: ToolAnnotation | None, now: ToolListing | None, before: ToolListing | None
) -> Deviation | None:
    """Return how a tool differs; None if it does not, or if its annotation does not say what it was."""
    if known is None:
        return Deviation(what="tool", name=name, kind="added")
    if now is None:
        return Deviation(what="tool", name=name, kind="gone")
    if known.schema_digest is None or not is_drifted(known, tool_digest(now), now.listing_digest):
        return None
    changed = tuple(_changed(known, now))
    old = before.description if before is not None else None
    difference, varying = "", None
    if "description" in changed:
        difference, varying = _difference(old, now.description), _varying(old, now.description)
    if "schema" in changed and not difference and known.input_schema is not None:
        difference = _difference(_text(known.input_schema), _text(now.input_schema))
    return Deviation(
        what="tool", name=name, kind="changed", changed=changed, difference=difference, varying=varying
    )


def _changed(known: ToolAnnotation, now: ToolListing) -> Iterator[Part]:
    """Yield what is different. The old description is not kept, but the digest tells whether it changed."""
    if tool_digest(now) == known.schema_digest:
        yield "listing"
        return
    pinned = now.model_copy(update={"input_schema": known.input_schema or {}})
    if known.input_schema is None or tool_digest(pinned) != known.schema_digest:
        yield "description"
    if known.input_schema != now.input_schema:
        yield "schema"


def _unpinned(annotated: ServerAnnotations, beside: ToldBeside) -> Iterator[str]:
    if annotated.instructions is None and beside.instructions:
        yield "instructions"
    if annotated.prompts is None and beside.prompts:
        yield "prompts"


def _text(told: Mapping[str, JsonValue]) -> str:
    return json_text.canonical(dict(told)).decode()


def _described(told: Mapping[str, JsonValue]) -> str:
    return str(told.get("description", ""))


def _first_difference(before: str, now: str) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now))
    )


def _difference(before: str | None, now: str) -> str:
    """Quote the first place where two texts differ; nothing where the first is not known."""
    if before is None or before == now:
        return ""
    start = max(0, _first_difference(before, now) - _AROUND)
    return f"annotated {_excerpt(before, start)}, now {_excerpt(now, start)}"


def _excerpt(text: str, start: int) -> str:
    end = start + _SHOWN
    return f'"{"…" if start else ""}{visible(text[start:end])}{"…" if end < len(text) else ""}"'


def _varying(before: str | None, now: str) -> Varying | None:
    """Return what confirms that two texts differ by where the server runs; None where it does not suffice."""
    if before is None or before == now:
        return None
    start = _word_start(before, _first_difference(before, now))
    old, new = _word(before, start), _word(now, start)
    shared = _shared_end(old, new)
    old, new = old[: len(old) - shared], new[: len(new) - shared]
    rest, other = before[start + len(old) :], now[start + len(new) :]
    tail = rest[: min(_first_difference(rest, other), _AROUND)]
    text = f"{before[max(0, start - _AROUND) : start]}{old}{tail}"
    try:
        varying = Varying(text=text, value=old, pattern=_pattern(old, new))
    except ValidationError:
        return None
    return varying if settled({"description": now}, [varying])["description"] == before else None


def _pattern(old: str, new: str) -> str:
    if re.fullmatch(_PATH, old) and re.fullmatch(_PATH, new):
        return _PATH
    is_name = _NAME.fullmatch(old) and _NAME.fullmatch(new)
    return _NAME.pattern if is_name else f"{re.escape(old)}|{re.escape(new)}"


def _word_start(text: str, place: int) -> int:
    """Return where the word begins that a place of a text is in."""
    return next((n + 1 for n in range(place - 1, -1, -1) if _ENDS.match(text[n])), 0)


def _word(text: str, start: int) -> str:
    end = _ENDS.search(text, start)
    return text[start : end.start() if end else len(text)]


def _shared_end(old: str, new: str) -> int:
    """Return how many characters of punctuation both words end with."""
    count = 0
    while (
        count < min(len(old), len(new)) - 1 and old[-1 - count] == new[-1 - count] and old[-1 - count] in ".:"
    ):
        count += 1
    return count
