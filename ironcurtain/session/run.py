"""A session as a process: opened, had by way of a transport, and closed, whatever ends it."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path

import pydantic_ai
from mcp.shared.exceptions import MCPDeprecationWarning

from ironcurtain.enforcement.proxy.process import say
from ironcurtain.servers.process_tree import adopting
from ironcurtain.session.create import SessionSettings, create_session
from ironcurtain.session.transports.transport import Transport


def run_session(
    settings: SessionSettings, transport: Transport, *, workspace: Path | None, model: str, resume: str | None
) -> bool:
    """Have a session; return whether its turns ended by themselves.

    Raises:
        IronCurtainError, OSError: As `create_session` and `Session.send`.
    """
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    pydantic_ai.BANNER_ENABLED = False  # the terminal is the person's, and the session's alone

    async def have() -> bool:
        async with create_session(
            settings, workspace=workspace, model=model, resume=resume, say=say
        ) as session:
            return await transport.run(session)

    with adopting():
        return asyncio.run(have())
