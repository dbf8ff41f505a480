"""A stage for agent sessions: a place with servers, a model that plays a script, and what a session told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ironcurtain.session.create import SessionSettings, create_session
from ironcurtain.session.events import CallEnded, Note, SessionEvent
from ironcurtain.session.session import Session
from support.deployments.proxied import Place, written_lines
from support.services.model_server import ModelServer


class Stage:
    """A place with servers, a model that plays a script, and what a session told."""

    def __init__(self, place: Place, model: ModelServer) -> None:
        self.place, self.model = place, model
        self.events: list[SessionEvent] = []

    @asynccontextmanager
    async def session(
        self, resume: str | None = None, workspace: Path | None = None, **more: Any
    ) -> AsyncIterator[Session]:
        settings = SessionSettings(bundle=self.place.bundle, servers=self.place.servers, **more)
        name = f"{self.model.dialect.provider}:test-model"
        async with create_session(
            settings, workspace=workspace, model=name, resume=resume, listeners=[self.events.append]
        ) as session:
            yield session

    def ended(self) -> list[CallEnded]:
        return [event for event in self.events if isinstance(event, CallEnded)]

    def notes(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Note)]

    def records(self, session: str) -> list[dict[str, Any]]:
        log = self.place.home / ".ironcurtain" / "audit" / f"{session}.jsonl"
        return [json.loads(line)["record"] for line in written_lines(log)]
