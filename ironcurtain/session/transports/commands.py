"""The slash commands of a conversation."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from pydantic_ai.messages import ModelMessage, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from ironcurtain.enforcement.approvals.describe import WIDTH, rows
from ironcurtain.enforcement.audit.log_paths import audit_directory, session_log
from ironcurtain.session.events import CallEnded, SessionEvent
from ironcurtain.session.session import Session
from ironcurtain.session.transports.display import rows_behind_margin
from ironcurtain.system.files import atomic_write
from ironcurtain.system.text import counted, visible

Say = Callable[[str], None]
_LAST = 10

_BECAME = {
    "recorded": "Recorded.",
    "other-approver": "It does not count: it asks for another approver; /pending shows whom.",
}
COMMANDS = {
    "/approve": "[ID]: approve a call that waits, once",
    "/approve-session": "[ID]: approve it and calls like it, for this session",
    "/deny": "[ID] [why]: deny a call that waits; the agent reads why",
    "/pending": "list the calls that wait",
    "/policy": "show what this session may do",
    "/why": "explain the last refusal",
    "/logs": "show the end of the session's log",
    "/audit": "show the last decisions",
    "/usage": "show what was used",
    "/compact": "have the model summarize the conversation, to make room",
    "/new": "begin a new conversation in this session",
    "/save": "FILE: write the conversation as Markdown",
    "/help": "list the commands",
    "/quit": "end the session",
}


class Commands:
    """Runs slash commands.

    Args:
        session: The session.
        say: Writes what the person reads.
    """

    def __init__(self, session: Session, say: Say) -> None:
        self._session, self._say = session, say
        self._calls: list[CallEnded] = []
        self._run: dict[str, Callable[[str], Awaitable[None]]] = {
            "/approve": self._approve,
            "/approve-session": self._approve_session,
            "/deny": self._deny,
            "/pending": self._pending,
            "/policy": self._policy,
            "/why": self._why,
            "/logs": self._logs,
            "/audit": self._audit,
            "/usage": self._usage,
            "/compact": self._compact,
            "/new": self._new,
            "/save": self._save,
            "/help": self._help,
        }

    def hear(self, event: SessionEvent) -> None:
        """Remember the last calls."""
        if isinstance(event, CallEnded):
            self._calls = [*self._calls, event][-_LAST:]

    async def run(self, line: str) -> bool:
        """Run one command; return whether the conversation goes on."""
        name, _, rest = line.partition(" ")
        if name == "/quit":
            return False
        run = self._run.get(name)
        if run is None:
            self._say(f"There is no command {visible(name)}; /help lists them.")
        else:
            await run(rest.strip())
        return True

    # -- approvals ------------------------------------------------------------------------------

    async def _approve(self, rest: str) -> None:
        await self._resolve(rest, approved=True)

    async def _approve_session(self, rest: str) -> None:
        await self._resolve(rest, approved=True, session=True)

    async def _deny(self, rest: str) -> None:
        await self._resolve(rest, approved=False)

    async def _resolve(self, rest: str, *, approved: bool, session: bool = False) -> None:
        waiting = self._session.pending
        word, _, reason = rest.partition(" ")
        named = [status for status in waiting if word and status.id.startswith(word)]
        # The words of a denial need no id before them; an id of another call approves nothing.
        if not named and len(waiting) == 1 and not (approved and word):
            named, reason = list(waiting), rest
        if len(named) != 1:
            self._say(
                "Nothing waits." if not waiting else "Name one of the calls that wait; /pending lists them."
            )
            return
        became = await self._session.resolve(
            named[0].id,
            approved=approved,
            scope="session" if session else "once",
            reason="" if approved else reason.strip(),
        )
        self._say(_BECAME.get(became, f"It does not count: {became}."))

    async def _pending(self, _: str) -> None:
        waiting = self._session.pending
        listed = [line for status in waiting for line in rows(status, datetime.now(UTC), WIDTH)]
        self._say("\n".join(listed) or "Nothing waits.")

    # -- what the session is and did ------------------------------------------------------------

    async def _policy(self, _: str) -> None:
        self._say("\n".join(await self._session.policy_lines()))

    async def _why(self, _: str) -> None:
        refused = [call for call in self._calls if not call.happened]
        if not refused:
            self._say("No call was refused.")
            return
        last = refused[-1]
        lines = [f"{visible(last.shown_tool)} was refused."]
        if last.rule is not None:
            lines.append(f"rule: {last.rule}" + (f", clause {last.clause}" if last.clause else ""))
        lines += rows_behind_margin(last.reason if last.rule is not None else last.text, WIDTH)
        if last.decision is not None:
            lines.append(f"more: ironcurtain audit show {last.decision}")
        self._say("\n".join(lines))

    async def _logs(self, _: str) -> None:
        path = self._session.path / "session.log"
        end = path.read_text(errors="replace").splitlines()[-_LAST:] if path.exists() else []
        self._say("\n".join([str(path), *rows_behind_margin("\n".join(end), WIDTH)]))

    async def _audit(self, _: str) -> None:
        path = session_log(audit_directory(), self._session.id).path
        calls = [
            f"{call.decision or '-'}  {visible(call.shown_tool)}  {_became(call)}" for call in self._calls
        ]
        self._say("\n".join([str(path), *calls]))

    async def _usage(self, _: str) -> None:
        used = self._session.usage
        cost = "a cost that nobody knows" if used.cost is None else f"${used.cost:.4f}"
        self._say(f"{counted(used.steps, 'step')}, {used.tokens:,} tokens, {used.seconds:.0f} s, {cost}")

    # -- the conversation -----------------------------------------------------------------------

    async def _compact(self, _: str) -> None:
        await self._session.compact()
        self._say("The conversation is now the model's summary of it.")

    async def _new(self, _: str) -> None:
        self._session.forget()
        self._say("A new conversation begins.")

    async def _save(self, rest: str) -> None:
        if not rest:
            self._say("Name the file: /save FILE")
            return
        file = Path(os.path.expanduser(rest))  # noqa: PTH111, ASYNC240 - the path alone is looked at
        atomic_write(file, as_markdown(self._session.history).encode(), mode=0o600)
        self._say(f"Written: {visible(rest)}")

    async def _help(self, _: str) -> None:
        width = max(map(len, COMMANDS))
        self._say("\n".join(f"{name:<{width}}  {words}" for name, words in COMMANDS.items()))


def as_markdown(history: tuple[ModelMessage, ...]) -> str:
    """Return a conversation as Markdown: who said what, and each call with its result."""
    parts = []
    for message in history:
        for part in message.parts:
            match part:
                case UserPromptPart(content=str() as text):
                    parts.append(f"## You\n\n{text}")
                case TextPart(content=text) if text:
                    parts.append(f"## Agent\n\n{text}")
                case ToolCallPart():
                    parts.append(f"### Call {part.tool_name}\n\n{_fenced(part.args_as_json_str(), 'json')}")
                case ToolReturnPart():
                    parts.append(f"### Result\n\n{_fenced(part.model_response_str(), 'text')}")
    return "\n\n".join(parts) + "\n"


def _fenced(text: str, kind: str) -> str:
    """Return a text as a block of code that nothing in it can end."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{kind}\n{text}\n{fence}"


def _became(call: CallEnded) -> str:
    if call.happened:
        return "approved" if call.approved else "allowed"
    return "refused"
