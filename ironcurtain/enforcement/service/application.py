"""The service over HTTP on its socket: each request is read strictly, and what is none gets no verdict."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

import anyio
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message

from ironcurtain.enforcement.service import authzen, claude_code
from ironcurtain.enforcement.service.sessions import Sessions
from ironcurtain.errors import IronCurtainError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

ATTENDED = "x-session-attended"
"""The header by which the hook program hands on whether the client says that a person sits there."""

_log = logging.getLogger(__name__)
M = TypeVar("M", bound=BaseModel)
_Answer = Callable[[Request], Awaitable[dict[str, JsonValue]]]


def application(sessions: Sessions, own: str, seen: Callable[[], None]) -> Starlette:
    """Return the service.

    Args:
        sessions: The sessions.
        own: The name of the session that evaluations belong to.
        seen: Called for each request.
    """

    async def hook(request: Request) -> dict[str, JsonValue]:
        event = await _read(request, claude_code.HookEvent)
        attended = request.headers.get(ATTENDED) == "1"
        return await claude_code.answer(event, sessions, attended=attended)

    async def evaluation(request: Request) -> dict[str, JsonValue]:
        asked = await _read(request, authzen.Evaluation)
        return await authzen.evaluated(asked, await sessions.of(own))

    async def evaluations(request: Request) -> dict[str, JsonValue]:
        asked = await _read(request, authzen.Evaluations)
        return await authzen.all_evaluated(asked, await sessions.of(own))

    async def configuration(_: Request) -> dict[str, JsonValue]:
        return authzen.metadata("http://localhost")

    def route(path: str, answer: _Answer, method: str = "POST") -> Route:
        async def answered(request: Request) -> Response:
            seen()
            response, why = await _answered(request, answer)
            if why:
                with suppress(IronCurtainError):  # it is blocked in any case
                    await (await sessions.of(own)).tell("blocked", request.url.path, why)
            return response

        return Route(path, answered, methods=[method])

    return Starlette(
        routes=[
            route(f"/hooks/{claude_code.CLIENT}", hook),
            route(authzen.EVALUATION, evaluation),
            route(authzen.EVALUATIONS, evaluations),
            route("/.well-known/authzen-configuration", configuration, "GET"),
        ]
    )


async def _read(request: Request, form: type[M]) -> M:
    """Return a request's body.

    Raises:
        ValueError: If it is not of that form, or no strict JSON.
    """
    return form.model_validate(json_text.parse(await request.body()))


async def _answered(request: Request, answer: _Answer) -> tuple[Response, str]:
    """Answer a request, and say why it is none that gets a verdict, if so."""
    try:
        document = await _while_connected(request, answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = "/".join(map(str, first["loc"]))
        return _error(400, f"not a request that is answered here: {place}: {first['msg']}")
    except ValueError as error:
        return _error(400, f"not a request that is answered here: {error}")
    except IronCurtainError as error:
        return _error(503, error.what)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is no verdict
        _log.exception("a request could not be answered")
        return _error(500, f"an internal error ({type(error).__name__})")
    if document is None:
        return Response(status_code=503), ""
    named = {"x-request-id": value} if (value := request.headers.get("x-request-id")) else {}
    return JSONResponse(document, headers=named), ""


async def _while_connected(request: Request, answer: _Answer) -> dict[str, JsonValue] | None:
    """Return the answer; None for whoever has gone before it was there, whose call is called off."""
    body = await request.body()
    answers: list[dict[str, JsonValue]] = []
    failed: list[Exception] = []

    async def whole() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            try:
                answers.append(await answer(Request(request.scope, whole)))
            except Exception as error:  # noqa: BLE001 - raised outside, where no group wraps it
                failed.append(error)
            tasks.cancel_scope.cancel()

        tasks.start_soon(work)
        while (await request.receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()
    if failed:
        raise failed[0]
    return answers[0] if answers else None


def _error(status: int, why: str) -> tuple[Response, str]:
    return JSONResponse({"error": visible(why)}, status), why
