"""An engine that runs: started before what decides with it is loaded, and ended once."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

import anyio

from ironcurtain.enforcement.calls.run_blocking import run_blocking
from ironcurtain.policy import AnyEngine, Policy
from ironcurtain.system.structs import Struct

# Nodes fetch a new bundle within OPA's polling interval; a gateway that has it already waits for the first.
CONVERGENCE = 60.0


class StartedEngine(Struct):
    """An engine that was started; it is healthy and of the right revision.

    Attributes:
        engine: What is asked.
        stack: Ends it.
    """

    engine: AnyEngine
    stack: AsyncExitStack

    @classmethod
    async def start(cls, policy: Policy, *, wait: float = CONVERGENCE) -> StartedEngine:
        """Start an engine for a loaded policy.

        Args:
            policy: The policy.
            wait: Seconds that nodes have to fetch the bundle, where they have another one as yet.

        Raises:
            IronCurtainError: If it cannot be started.
        """
        # It may ask OPA to verify the signature.
        engine = await run_blocking(partial(policy.engine, wait=wait))
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(engine)
            return cls(engine, stack.pop_all())

    async def close(self) -> None:
        """End it, whoever is cancelled; it may have been ended before."""
        with anyio.CancelScope(shield=True):
            await self.stack.aclose()
