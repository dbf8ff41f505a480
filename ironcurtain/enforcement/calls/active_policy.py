"""The policy that is enforced right now, and its replacement while calls are being decided (blue/green)."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import anyio
from pydantic_core import to_json

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.decision.refusal import Refusal
from ironcurtain.enforcement.calls.audit_options import AuditOptions
from ironcurtain.enforcement.calls.started_engine import CONVERGENCE, StartedEngine
from ironcurtain.enforcement.facts.facts_of_tool import ConcernedTools
from ironcurtain.engine.answer import EngineAnswerError
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.policy import Policy
from ironcurtain.system.frozen import JsonValue

_LOST = frozenset({ReservedRule.ENGINE_DEAD, ReservedRule.ENGINE_UNREACHABLE, ReservedRule.ENGINE_TIMEOUT})


class PolicyInstance:
    """One policy with its running engine.

    Attributes:
        closed: The tools, by server and name, of which no call could be permitted, once that is known.
    """

    def __init__(self, policy: Policy, started: StartedEngine, audit_options: AuditOptions) -> None:
        self.policy = policy
        self.engine = started.engine
        self.audit_options = audit_options
        self.content = PolicyContent.of(policy.bundle)
        self.concerned = ConcernedTools(self.content)
        self.recorder = audit_options.recorder(policy, self.content)
        self.closed: frozenset[tuple[str, str]] = frozenset()
        self.lost = anyio.Event()
        self._started = started
        self._users = 0
        self._idle = anyio.Event()

    @classmethod
    async def start(
        cls, policy: Policy, audit_options: AuditOptions, *, wait: float = CONVERGENCE
    ) -> PolicyInstance:
        """Start an engine for a loaded policy; it is healthy and of the right revision when this returns.

        Args:
            policy: The policy.
            audit_options: What is kept of what it decides.
            wait: Seconds that nodes have to fetch the bundle, where they have another one as yet.

        Raises:
            IronCurtainError: If it cannot be started.
        """
        return cls(policy, await StartedEngine.start(policy, wait=wait), audit_options)

    @property
    def loaded(self) -> LoadedPolicy:
        """The policy as `decide` uses it."""
        return self.policy.loaded

    def asking(self) -> EngineQuery:
        """Return what asks the engine about one call."""
        return EngineQuery(self)

    def __enter__(self) -> Self:
        """Keep the engine running while a decision is made with it."""
        self._users += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Need it no longer."""
        self._users -= 1
        if not self._users:
            self._idle.set()

    async def close(self, patience: float = 0.0) -> None:
        """Stop the engine once nobody uses it, at the latest after `patience` seconds or when cancelled."""
        try:
            with anyio.move_on_after(patience):
                while self._users:
                    self._idle = anyio.Event()
                    await self._idle.wait()
        finally:
            await self._started.close()


class EngineQuery:
    """Asks the engine about one call.

    Attributes:
        decision_id: The engine's own id of its decision, once it has answered, and if it gives any.
    """

    def __init__(self, enforced: PolicyInstance) -> None:
        self.decision_id: str | None = None
        self._enforced = enforced

    async def ask(self, question: PolicyInput) -> JsonValue:
        """Ask, as `decide` wants it.

        Raises:
            Refusal: If the engine gives no decision.
        """
        try:
            answer = await self._enforced.engine.query(to_json(question))
        except EngineAnswerError as error:
            if error.rule in _LOST:
                self._enforced.lost.set()
            raise Refusal(error.rule, f"The engine gave no decision: {error.reason}.") from None
        self.decision_id = answer.decision_id
        return answer.result


class ActivePolicy:
    """Holds the enforced policy; whoever decides enters it, and it stays usable, whatever replaces it."""

    def __init__(self, first: PolicyInstance) -> None:
        self.current = first
        self.replaced = anyio.Event()

    def replace(self, new: PolicyInstance) -> PolicyInstance:
        """Enforce another policy from now on; return the old one, by which calls may be decided still."""
        old, self.current = self.current, new
        waiting, self.replaced = self.replaced, anyio.Event()
        waiting.set()
        return old
