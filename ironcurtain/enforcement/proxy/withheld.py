"""What clients do not get of a server, as what is not what was annotated: said once, kept for `status`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from ironcurtain.decision.comparison import Deviation, compare, of_instructions, of_prompts, withheld_words
from ironcurtain.enforcement.calls.active_policy import ActivePolicy
from ironcurtain.enforcement.calls.run_blocking import run_blocking
from ironcurtain.enforcement.proxy.upstream.tool_inventory import ToolInventory
from ironcurtain.model.annotations import ServerAnnotations
from ironcurtain.servers.tool_lists.published import recorded_server
from ironcurtain.servers.tools import ListedServer, ToolListing, tool_digest
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted

_MOST_SAID = 10
_MOST_KEPT = 1000


class Withheld:
    """Holds what servers tell against what was annotated, and says what is withheld therefore.

    Args:
        policy: The policy that is enforced.
        published: The directory that the bundle was published to: what servers listed when they were
            annotated lies there, and is quoted.
        say: Tells the person who started the proxy.
        observe: Whether nothing is withheld.
    """

    def __init__(
        self, policy: ActivePolicy, published: Path, say: Callable[[str], None], *, observe: bool
    ) -> None:
        self._policy, self._published, self._say, self._observe = policy, published, say, observe
        self._sentences: dict[tuple[str, str], tuple[str, ...]] = {}
        self._said: set[str] = set()
        self._recalled: dict[str, ListedServer] = {}

    def annotated(self, server: str) -> ServerAnnotations | None:
        """Return what is annotated of a server."""
        return self._policy.current.content.annotations.servers.get(server)

    def of(self, server: str) -> tuple[str, ...]:
        """Return a sentence for each thing of a server that is withheld."""
        return tuple(each for key, found in self._sentences.items() if key[0] == server for each in found)

    async def recall(self, server: str) -> bool:
        """Look up what a server listed when it was annotated; tell whether its tools are known by that."""
        if server not in self._recalled:
            recorded = await run_blocking(partial(recorded_server, self._published, server))
            self._recalled[server] = recorded or ListedServer()
        return bool(self.recalled_tools(server).tools)

    def recalled_tools(self, server: str) -> ToolInventory:
        """Return the tools that a server listed when it was annotated, as far as annotations vouch for them.

        They do for names, descriptions and input schemas: titles, hints and output schemas are left out.
        """
        annotated, recorded = self.annotated(server), self._recalled.get(server, ListedServer())
        known = {each.tool: each for each in annotated.tools} if annotated is not None else {}
        vouched = [
            each
            for each in recorded
            if each.name in known and known[each.name].schema_digest == tool_digest(each)
        ]
        return ToolInventory(
            tools={each.name: _vouched(each) for each in vouched},
            digests={each.name: tool_digest(each) for each in vouched},
            listings={each.name: known[each.name].listing_digest or "" for each in vouched},
        )

    def recalled_instructions(self, server: str) -> str:
        """Return the instructions that a server gave then, where they are pinned and do not vary."""
        annotated, recorded = self.annotated(server), self._recalled.get(server, ListedServer())
        beside = recorded.beside
        if annotated is None or annotated.instructions is None or annotated.varying or beside is None:
            return ""
        return self.instructions(server, beside.instructions)

    def may_have(self, server: str, what: str) -> bool:
        """Tell whether a server of which nothing else is known may have prompts, resources or the like."""
        annotated = self.annotated(server)
        return what != "prompts" or annotated is None or annotated.prompts is None or bool(annotated.prompts)

    def instructions(self, server: str, text: str) -> str:
        """Return a server's instructions; empty where they are not those that are pinned."""
        return "" if not self._observe and any(of_instructions(self.annotated(server), text)) else text

    async def look(self, server: str, inventory: ToolInventory, instructions: str) -> None:
        """Compare a server's tools and instructions with what was annotated; say which are left out."""
        self.note(server, "tools/list", inventory.problems)
        annotated = self.annotated(server)
        live = ListedServer(tuple(inventory.tools.values()))

        def differing(recorded: ListedServer | None) -> list[Deviation]:
            tools = compare(annotated, live, recorded)
            return [*tools.deviations, *tools.undigested, *of_instructions(annotated, instructions, recorded)]

        await self._tell(server, "tools", differing)

    async def hidden_prompts(self, server: str, prompts: Sequence[Mapping[str, JsonValue]]) -> frozenset[str]:
        """Return the names of prompts that are not those that are pinned."""
        annotated = self.annotated(server)
        if annotated is None or annotated.prompts is None or self._observe:
            return frozenset()
        found = await self._tell(server, "prompts", partial(of_prompts, annotated, prompts))
        return frozenset(each.name for each in found)

    async def _tell(
        self, server: str, what: str, differing: Callable[[ListedServer | None], Iterable[Deviation]]
    ) -> list[Deviation]:
        """Work out what is withheld, and say what was not said before."""
        found = [] if self._observe else await run_blocking(lambda: [*differing(None)])
        if any(each.kind == "changed" for each in found):
            recorded = await run_blocking(partial(recorded_server, self._published, server))
            found = await run_blocking(lambda: [*differing(recorded)])
        self._keep(server, what, _sentences(server, found))
        return found

    def note(self, server: str, what: str, problems: Sequence[str]) -> None:
        """Say, once, what is wrong with a list of a server, or with entries of it that are left out."""
        self._keep(server, what, [f"server {server}: {problem}" for problem in problems])

    def _keep(self, server: str, what: str, sentences: Sequence[str]) -> None:
        self._sentences[server, what] = tuple(sentences)
        for sentence in [each for each in sentences if each not in self._said]:
            self._said.add(sentence)
            self._say(sentence)
        if len(self._said) > _MOST_KEPT:
            self._said.clear()


def _vouched(tool: ToolListing) -> ToolListing:
    """Return what the digest of an annotation is made of, and nothing else."""
    return ToolListing.of(
        {"name": tool.name, "description": tool.description, "inputSchema": dict(tool.input_schema)}
    )


def _sentences(server: str, found: Sequence[Deviation]) -> list[str]:
    """Return a sentence for each thing that is withheld; one for all tools that nobody annotated."""
    new = [each.name for each in found if (each.what, each.kind) == ("tool", "added")]
    others = [each for each in found if (each.what, each.kind) != ("tool", "added")]
    sentences = [words for each in others if (words := withheld_words(server, each))]
    more = len(sentences) - _MOST_SAID
    sentences = [*sentences[:_MOST_SAID], *([f"server {server}: and {more:,} more"] if more > 0 else [])]
    if new:
        names = ", ".join(map(quoted, new[:_MOST_SAID]))
        more_names = f" and {len(new) - _MOST_SAID:,} more" if len(new) > _MOST_SAID else ""
        sentences.append(
            f"server {server}: hidden, because nobody annotated them: {names}{more_names}; "
            f"run `ironcurtain annotate {server}`, then compile"
        )
    return sentences
