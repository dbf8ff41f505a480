"""The one kind of body that is read: a small form as browsers send it, each field once."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

CONTENT_TYPE = "application/x-www-form-urlencoded"
MAX_BYTES = 64 << 10
_MAX_FIELDS = 256


class BadFormError(Exception):
    """A body that no page of ours sends."""


async def read_form(request: Request) -> Mapping[str, str]:
    """Return the fields of a request's form.

    Raises:
        BadFormError: If it is none, or too large, or names a field twice.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != CONTENT_TYPE:
        raise BadFormError
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BYTES:
            raise BadFormError
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise BadFormError from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadFormError
    return fields
