"""The routes: which address is which page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from ironcurtain.enforcement.audit.recent import RecentRecords
from ironcurtain.errors import IronCurtainError
from ironcurtain.system.structs import Struct
from ironcurtain.web.access import SESSION_SECONDS, Access
from ironcurtain.web.activity import HERE as ACTIVITY
from ironcurtain.web.activity import ActivityPages, Explain
from ironcurtain.web.approvals import HERE as APPROVALS
from ironcurtain.web.approvals import AdviceOn, ApprovalPages, WaitingApprovals
from ironcurtain.web.compare import HERE as COMPARE
from ironcurtain.web.compare import ApprovalsText, ComparePages, Comparison
from ironcurtain.web.guard import COOKIE, ENTER, Guard, cookie_of, form_of
from ironcurtain.web.once_per_state import OncePerState
from ironcurtain.web.passkey_page import HERE as PASSKEY
from ironcurtain.web.passkey_page import PasskeyPages
from ironcurtain.web.playground import HERE as PLAYGROUND
from ironcurtain.web.playground import PlaygroundPages
from ironcurtain.web.playground_policy import OpenPlayground
from ironcurtain.web.policy import HERE as POLICY
from ironcurtain.web.policy import OpenLogs, PolicyPages
from ironcurtain.web.policy_report import PolicyReport
from ironcurtain.web.rendering import SCRIPT, page, refused, said

if TYPE_CHECKING:
    from ironcurtain.web.passkeys import Passkeys

_CLIENT_LEFT = 499


class Entrance(Struct):
    """Where a browser is let in, and goes.

    Attributes:
        access: Who is let in.
        entered: Called when a code was used: whoever is at the terminal is told.
    """

    access: Access
    entered: Callable[[], None]

    async def form(self, request: Request) -> Response:
        """Show the form that exchanges a code: reading an address changes nothing."""
        return page("enter.html", request, code=request.query_params.get("code", ""))

    async def exchange(self, request: Request) -> Response:
        """Exchange a code for a cookie."""
        cookie = self.access.exchange(form_of(request).get("code", ""))
        if cookie is None:
            why = "This code was used before, or it is none. The terminal shows the one that is good now."
            return refused(request, 403, why)
        answer = RedirectResponse(APPROVALS, 303)
        answer.set_cookie(COOKIE, cookie, max_age=int(SESSION_SECONDS), httponly=True, samesite="strict")
        self.entered()
        return answer

    async def leave(self, request: Request) -> Response:
        """End the session of a browser."""
        self.access.leave(cookie_of(request))
        del request.scope["ironcurtain.session"]
        answer = page("refused.html", request, heading="You have left", why="")
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return answer


class PageSources(Struct):
    """What the pages show.

    Attributes:
        waiting: What waits for a person.
        records: What was decided.
        always: Proposes sentences instead of answering a request.
        explain: Explains a recorded decision; None where no policy was named.
        policy: The policy's examination; None where no policy was named.
        comparison: What changed since an older policy; None where none was named.
        approvals: Returns the file that approves what was loosened.
        passkeys: The passkey that each approval asks for; None where none is asked for.
        playground: Decides calls that are tried out; None where no policy was named.
        logs: Opens all audit logs; None where no policy was named.
    """

    waiting: WaitingApprovals
    records: RecentRecords
    always: AdviceOn
    explain: Explain | None = None
    policy: OncePerState[PolicyReport] | None = None
    comparison: OncePerState[Comparison] | None = None
    approvals: ApprovalsText | None = None
    passkeys: Passkeys | None = None
    playground: OpenPlayground | None = None
    logs: OpenLogs | None = None


def make_app(
    host: str, access: Access, shown: PageSources, entered: Callable[[], None], told: Callable[[str], None]
) -> ASGIApp:
    """Return the application: the pages, and the guard before them.

    Args:
        host: The name and port that browsers ask us for by.
        access: Who is let in.
        shown: What the pages show.
        entered: Called when a browser was let in.
        told: Told what whoever is at the terminal should know.
    """
    return Guard(unguarded_pages(access, shown, entered, told), access, host)


def unguarded_pages(
    access: Access, shown: PageSources, entered: Callable[[], None], told: Callable[[str], None]
) -> Starlette:
    """Return the pages without the guard that stands before them."""
    entrance = Entrance(access, entered)
    approvals = ApprovalPages(shown.waiting, shown.records, access, shown.passkeys, shown.always)
    passkey = PasskeyPages(shown.passkeys, told, APPROVALS)
    activity = ActivityPages(shown.records, access, shown.explain)
    policy = PolicyPages(shown.policy, access, shown.logs)
    playground = PlaygroundPages(shown.playground, shown.records)
    compare = ComparePages(shown.comparison, access, shown.approvals)
    routes = [
        Route("/", _first, methods=["GET"]),
        Route(ENTER, entrance.form, methods=["GET"]),
        Route(ENTER, entrance.exchange, methods=["POST"]),
        Route("/leave", entrance.leave, methods=["POST"]),
        Route("/static/page.js", _script, methods=["GET"]),
        Route(APPROVALS, approvals.list_, methods=["GET"]),
        Route(f"{APPROVALS}/changes", approvals.changes, methods=["GET"]),
        Route(APPROVALS + "/{id}", approvals.one, methods=["GET"]),
        Route(APPROVALS + "/{id}", approvals.answer, methods=["POST"]),
        Route(APPROVALS + "/{id}/always", approvals.always, methods=["GET"]),
        Route(PASSKEY, passkey.form, methods=["GET"]),
        Route(PASSKEY, passkey.register, methods=["POST"]),
        Route(ACTIVITY, activity.list_, methods=["GET"]),
        Route(f"{ACTIVITY}/changes", activity.changes, methods=["GET"]),
        Route(ACTIVITY + "/{session}/{id}", activity.one, methods=["GET"]),
        Route(POLICY, policy.shown, methods=["GET"]),
        Route(f"{POLICY}/cell", policy.cell, methods=["GET"]),
        Route(f"{POLICY}/changes", policy.changes, methods=["GET"]),
        Route(PLAYGROUND, playground.begin, methods=["GET"]),
        Route(PLAYGROUND, playground.decide, methods=["POST"]),
        Route(COMPARE, compare.shown, methods=["GET"]),
        Route(f"{COMPARE}/changes", compare.changes, methods=["GET"]),
        Route(f"{COMPARE}/approvals", compare.approvals, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers=_HANDLERS)
    app.router.redirect_slashes = False
    return app


async def _first(_: Request) -> Response:
    return RedirectResponse(APPROVALS, 303)


async def _script(_: Request) -> Response:
    return Response(SCRIPT, media_type="text/javascript")


async def _missing(request: Request, _: Exception) -> Response:
    return refused(request, 404, "There is no such page.")


async def _failed(request: Request, error: Exception) -> Response:
    return refused(request, 500, said(error))


async def _left(_: Request, __: Exception) -> Response:
    return Response(status_code=_CLIENT_LEFT)  # nobody reads it


_HANDLERS: dict[Any, Any] = {
    404: _missing,
    405: _missing,
    IronCurtainError: _failed,
    OSError: _failed,
    ClientDisconnect: _left,
}
