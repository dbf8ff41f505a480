"""Pages from templates: everything is escaped, what cannot be seen is shown, and only our own files run.

The style stands in each page and the script beside it; the content security policy names both by their
digests, so that a browser takes nothing else for a style or a script of ours.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ironcurtain.errors import IronCurtainError
from ironcurtain.system.text import isolated, printable, visible

_HERE = Path(__file__).parent
SCRIPT = (_HERE / "static" / "page.js").read_bytes()
_STYLE = (_HERE / "static" / "page.css").read_text(encoding="utf-8")


def _digest(content: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()


CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"script-src '{_digest(SCRIPT)}'",
        f"style-src '{_digest(_STYLE.encode())}'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)


def _shown(value: object) -> object:
    """Show a value of a template: whatever was not made visible before can still hide or move nothing."""
    if isinstance(value, Markup) or not isinstance(value, str) or (value.isascii() and value.isprintable()):
        return value
    return isolated(printable(value))


# Of Markdown no links, no images and no markup of others: all else that a sentence holds is escaped.
_MARKDOWN = MarkdownIt("zero").enable(["emphasis", "backticks"])


def _sentence(text: str) -> Markup:
    """Show a sentence of the constitution with its emphasis and its code."""
    return Markup(_MARKDOWN.renderInline(visible(text)))  # noqa: S704 - as said above


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    finalize=_shown,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["visible"] = visible
_ENVIRONMENT.filters["sentence"] = _sentence
# For what a person typed into a field, which comes back as it was: escaped, and nothing else.
_ENVIRONMENT.filters["exact"] = escape
# Ours, and free of what could end a style: its digest is in the policy.
_ENVIRONMENT.globals.update(style=Markup(_STYLE), script_digest=_digest(SCRIPT))  # noqa: S704 - as said above


def exported(template: str, here: str, **values: Any) -> str:  # noqa: ANN401
    """Return a page as the text of a file that needs no server and runs no script.

    Args:
        template: Its name in `templates/`.
        here: The address of the page that it is.
        values: What the template shows; all of it is escaped.
    """
    policy = f"default-src 'none'; style-src '{_digest(_STYLE.encode())}'; base-uri 'none'"
    template_ = _ENVIRONMENT.get_template(template)
    return template_.render(here=here, is_in=False, file_policy=policy, **values)


def page(template: str, request: Request, *, status: int = 200, **values: Any) -> Response:  # noqa: ANN401
    """Return a page.

    Args:
        template: Its name in `templates/`.
        request: What it answers.
        status: The HTTP status.
        values: What the template shows; all of it is escaped.
    """
    session = request.scope.get("ironcurtain.session")
    token = session.form_token if session is not None else ""
    text = _ENVIRONMENT.get_template(template).render(
        here=request.url.path, file_policy="", form_token=token, is_in=session is not None, **values
    )
    return HTMLResponse(text, status)


def refused(request: Request, status: int, why: str) -> Response:
    """Return the page that says why nothing was done."""
    return page("refused.html", request, status=status, heading="Not done", why=why)


def said(error: Exception) -> str:
    """Return what went wrong as sentences, with what to do about it."""
    what = str(error) if isinstance(error, IronCurtainError | OSError) else repr(error)
    hint = f" {error.hint}" if isinstance(error, IronCurtainError) and error.hint else ""
    return f"{what}{'' if what.endswith('.') else '.'}{hint}"


def not_examined(request: Request, what: str, here: str, trouble: str) -> Response:
    """Return the page that says why a policy could not be examined; it changes when its files do."""
    return page("policy_wait.html", request, status=500, what=what, follow=f"{here}/changes", trouble=trouble)
