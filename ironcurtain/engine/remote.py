"""The remote engine: OPAs that others run, asked for one decision at a time or many at once.

Security rests on these:

1. A node is known by its certificate, or is on this machine; see `nodes.py`.
2. Only a decision object from the expected revision of the bundle counts, and the bundle is read and
   verified here: a node that has another one, none yet, or something else to say has decided nothing.
3. A decision depends on revision and input alone. So another node may be asked whenever one has not
   decided, and whichever answers first decides as all of them would.
4. Where none decides, the query raises; there is no fallback.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import AsyncExitStack
from ssl import SSLContext
from types import TracebackType
from typing import Self

from ironcurtain.engine.answer import (
    REMOTE_BUNDLE_NAME,
    EngineAnswer,
    EngineAnswerError,
    read_answer,
)
from ironcurtain.engine.client import NodeClient
from ironcurtain.engine.remote_nodes import Nodes, NodeStatus
from ironcurtain.errors import EngineFailedError
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.system.structs import Struct

_POLL = 0.2
_FRESH = 5.0
# Nodes that are started together with us are soon there; one that is not is known by then.
_REACHING = 5.0
# Failures that say nothing about the policy: their sum has a name of its own.
_SILENT: frozenset[ReservedRule] = frozenset({ReservedRule.ENGINE_UNREACHABLE, ReservedRule.ENGINE_TIMEOUT})

# A status may be about this input alone, which must not cost other calls a node.
_RESTING = _SILENT | {ReservedRule.ENGINE_REVISION, ReservedRule.ENGINE_MALFORMED}
_PUBLISH = "Publish this bundle to the nodes, or load the one that they serve."
_CHECK = (
    "Check the nodes, their addresses, --engine-ca and --engine-token-file; "
    "see `ironcurtain error remote-engine`."
)


class RemoteLimits(Struct):
    """Bounds in seconds: of one request to a node, of reaching it, and of one decision by all nodes.

    A node that has not decided is asked last, for `rest` at first, then twice as long up to `longest_rest`.
    """

    query: float = 5.0
    connect: float = 3.0
    decision: float = 10.0
    rest: float = 1.0
    longest_rest: float = 30.0


_DEFAULT_LIMITS = RemoteLimits()


class RemoteEngine:
    """An async context manager that asks nodes which all serve one bundle. Use it from one event loop.

    Args:
        nodes: Who is asked.
        revision: The revision of the bundle; an answer from any other is refused.
        wait: Seconds that the start waits for a node that answers, but has another revision as yet, and at
            most five of them for one that cannot be reached.
        limits: Time bounds.
    """

    def __init__(
        self, nodes: Nodes, revision: str, *, wait: float = 0.0, limits: RemoteLimits = _DEFAULT_LIMITS
    ) -> None:
        tls = nodes.tls()
        self._nodes = [_Node(url, nodes.token, tls, revision, limits) for url in nodes.urls]
        self._limits = limits
        self._wait = wait
        self._next = 0
        self._stack = AsyncExitStack()
        self._open = False

    async def __aenter__(self) -> Self:
        """Ask every node whether it serves the revision; one is enough.

        Raises:
            EngineFailedError: If none does, with each node's reason.
        """
        async with AsyncExitStack() as stack:
            for node in self._nodes:
                await stack.enter_async_context(node.client)
            await self._until_one_serves()
            self._stack, self._open = stack.pop_all(), True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the connections."""
        self._open = False
        await self._stack.aclose()

    async def query(self, policy_input: bytes) -> EngineAnswer:
        """Ask one node for the decision on a policy input, and another one if it has not decided.

        Args:
            policy_input: The JSON text of one object, UTF-8, at most 8 MiB, sent unchanged.

        Raises:
            EngineAnswerError: If no node gives a decision object from the expected revision. All nodes
                having the same to say about that, it is their rule; otherwise it is `engine-no-node`.
        """
        if not self._open:
            raise EngineAnswerError(ReservedRule.ENGINE_DEAD, "the engine was closed")
        failures: list[tuple[_Node, EngineAnswerError]] = []
        try:
            async with asyncio.timeout(self._limits.decision):
                for node in self._turn():
                    try:
                        return await node.ask(policy_input)
                    except EngineAnswerError as error:
                        # The right revision has no decision about this: no other node has one.
                        if error.rule == ReservedRule.ENGINE_UNDEFINED:
                            raise
                        failures.append((node, error))
        except TimeoutError:
            told = f"; {_told(failures)}" if failures else ""
            raise EngineAnswerError(
                ReservedRule.ENGINE_NO_NODE, f"no node decided within {self._limits.decision:g} s{told}"
            ) from None
        rules = {error.rule for _, error in failures}
        rule = rules.pop() if len(rules) == 1 and not rules & _SILENT else ReservedRule.ENGINE_NO_NODE
        raise EngineAnswerError(rule, f"no node decided: {_told(failures)}")

    async def states(self) -> tuple[NodeStatus, ...]:
        """Tell how each node answered last; those that have not been asked lately are asked."""
        now = asyncio.get_running_loop().time()
        await asyncio.gather(*(node.check() for node in self._nodes if node.told_at < now - _FRESH))
        return tuple(node.status for node in self._nodes)

    async def _until_one_serves(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while None not in (failures := await self._check()):
            rules = {error.rule for error in failures if error is not None}
            converging = ReservedRule.ENGINE_REVISION in rules
            patience = self._wait if converging else min(self._wait, _REACHING) if rules & _SILENT else 0.0
            if loop.time() >= began + patience:
                told = [(n, error) for n, error in zip(self._nodes, failures, strict=True) if error]
                raise EngineFailedError(
                    f"no node serves the bundle: {_told(told)}", hint=_PUBLISH if converging else _CHECK
                )
            await asyncio.sleep(_POLL)

    async def _check(self) -> list[EngineAnswerError | None]:
        return await asyncio.gather(*(node.check() for node in self._nodes))

    def _turn(self) -> list[_Node]:
        """Return the nodes in the order they are asked in: in turn, those that have failed lately last."""
        self._next = (self._next + 1) % len(self._nodes)
        turned = self._nodes[self._next :] + self._nodes[: self._next]
        now = asyncio.get_running_loop().time()
        order = sorted(turned, key=lambda node: node.rests_until > now)
        order[0].claim(now)
        return order


async def ask_nodes(nodes: Nodes, revision: str) -> tuple[NodeStatus, ...]:
    """Ask each node whether it serves a revision of the bundle; no decision comes of it."""
    tls = nodes.tls()
    asked = [_Node(url, nodes.token, tls, revision, _DEFAULT_LIMITS) for url in nodes.urls]
    async with AsyncExitStack() as stack:
        for node in asked:
            await stack.enter_async_context(node.client)
        await asyncio.gather(*(node.check() for node in asked))
    return tuple(node.status for node in asked)


class _Node:
    """One OPA, and how it has done lately."""

    def __init__(
        self, url: str, token: str | None, tls: SSLContext, revision: str, limits: RemoteLimits
    ) -> None:
        self.url = url
        self.client = NodeClient(url, token, tls, timeout=limits.query, connect=limits.connect)
        self.rests_until = 0.0
        self.told_at = -math.inf
        self._fault: EngineAnswerError | None = None
        self._revision = revision
        self._limits = limits
        self._rest = 0.0

    @property
    def status(self) -> NodeStatus:
        """How it answered last."""
        fault = self._fault
        if fault is None:
            return NodeStatus(url=self.url, serves=True)
        return NodeStatus(url=self.url, serves=False, rule=fault.rule.value, reason=fault.reason)

    def claim(self, now: float) -> None:
        """Let one decision try a node that failed before; the others keep away until it has told."""
        if self._rest:
            self.rests_until = now + self._rest

    async def ask(self, policy_input: bytes) -> EngineAnswer:
        """Ask for a decision, and remember how it went.

        Raises:
            EngineAnswerError: If it gives none from the expected revision.
        """
        try:
            status, body = await self.client.decide(policy_input)
            answer = read_answer(status, body, self._revision, bundle=REMOTE_BUNDLE_NAME)
        except EngineAnswerError as error:
            if error.rule in _RESTING:
                self._told(error)
                self._rest = min(max(self._limits.rest, self._rest * 2), self._limits.longest_rest)
                self.rests_until = asyncio.get_running_loop().time() + self._rest
            raise
        self._rest = self.rests_until = 0.0
        self._told(None)
        return answer

    async def check(self) -> EngineAnswerError | None:
        """Tell why it does not serve the expected revision; None if it does."""
        try:
            # An empty input may trip a built-in of a policy: that is no fault of the bundle's.
            status, body = await self.client.decide(b"{}", strict=False)
            read_answer(status, body, self._revision, bundle=REMOTE_BUNDLE_NAME)
        except EngineAnswerError as error:
            self._told(None if error.rule == ReservedRule.ENGINE_UNDEFINED else error)
        else:
            self._told(None)
        return self._fault

    def _told(self, fault: EngineAnswerError | None) -> None:
        self._fault, self.told_at = fault, asyncio.get_running_loop().time()


def _told(failures: list[tuple[_Node, EngineAnswerError]]) -> str:
    return "; ".join(f"{node.url}: {error.reason}" for node, error in failures)
