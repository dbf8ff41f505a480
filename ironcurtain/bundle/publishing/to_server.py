"""Publishing a bundle to a URL with HTTP PUT, under the condition that nobody else did so meanwhile.

The server must name what it holds by a strong ETag and keep `If-Match` and `If-None-Match` (RFC 9110).
Redirects are not followed, and nothing comes from the environment: a token goes where it was meant to go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import TypeVar
from urllib.parse import urlsplit

import aiohttp

from ironcurtain.bundle.members import MAX_BYTES
from ironcurtain.bundle.publishing.rollback_check import replaces
from ironcurtain.errors import PublishError, UsageError
from ironcurtain.system.loopback import is_loopback
from ironcurtain.system.structs import Struct

Answer = TypeVar("Answer")

_TIMEOUT = aiohttp.ClientTimeout(total=120)
_OK, _NOT_FOUND = 200, 404
_DONE = {200, 201, 204}
_CHANGED = {409, 412}
_CHUNK = 1 << 16


class _Held(Struct):
    """What the server holds; `content` is None if that is nothing."""

    content: bytes | None
    etag: str | None = None


def publish_to_server(archive: bytes, url: str, token: str | None) -> bool:
    """Put a verified archive to a URL; return False if it is there already.

    Args:
        archive: The signed bundle, a `.tar.gz`.
        url: Where it is fetched from afterwards.
        token: Bearer token, if the server wants one.

    Raises:
        UsageError: If the URL is none of HTTP, holds a password, or would show the token to the network.
        PublishError: If what is there must stay, or the server does not do what it has to.
    """
    _check_url(url, token)
    return _answered(_publish(archive, url, token), url)


def held_by_server(url: str, token: str | None) -> bytes | None:
    """Return what is published at a URL, its signature unchecked; None if that is nothing.

    Raises:
        UsageError, PublishError: As `publish_to_server`.
    """
    _check_url(url, token)
    return _answered(_fetch(url, token), url).content


def _answered(exchange: Coroutine[None, None, Answer], url: str) -> Answer:
    try:
        return asyncio.run(exchange)
    except TimeoutError:
        raise PublishError("the server did not answer in time", where=url) from None
    except (aiohttp.ClientError, OSError) as error:
        raise PublishError(f"the server cannot be reached ({type(error).__name__})", where=url) from error


async def _fetch(url: str, token: str | None) -> _Held:
    async with _session(token) as session:
        return await _get(session, url)


def _session(token: str | None) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        headers={"Accept-Encoding": "identity", **({"Authorization": f"Bearer {token}"} if token else {})},
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=_TIMEOUT,
        trust_env=False,
        auto_decompress=False,
    )


async def _publish(archive: bytes, url: str, token: str | None) -> bool:
    async with _session(token) as session:
        held = await _get(session, url)
        if not replaces(archive, held.content, url):
            return False
        await _put(session, url, archive, _condition(held, url))
        if (await _get(session, url)).content != archive:
            raise PublishError(
                "the server does not serve what it was sent",
                where=url,
                hint="Somebody published at the same time, or a cache answers in its place.",
            )
    return True


def _condition(held: _Held, url: str) -> Mapping[str, str]:
    """Return the header that makes the server refuse if somebody else was faster."""
    if held.content is None:
        return {"If-None-Match": "*"}
    if held.etag is None or not held.etag.startswith('"'):
        raise PublishError(
            "the server gives no strong ETag, so nobody could tell whose bundle would be replaced",
            where=url,
            hint="Publish to a server that does, or into a directory.",
        )
    return {"If-Match": held.etag}


async def _get(session: aiohttp.ClientSession, url: str) -> _Held:
    async with session.get(url, allow_redirects=False) as response:
        if response.status == _NOT_FOUND:
            return _Held(None)
        if response.status != _OK:
            raise _unexpected("GET", response.status, url)
        content = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK):
            content += chunk
            if len(content) > MAX_BYTES:
                raise PublishError(f"more than {MAX_BYTES:,} bytes are there", where=url)
        return _Held(bytes(content), response.headers.get("ETag"))


async def _put(
    session: aiohttp.ClientSession, url: str, archive: bytes, condition: Mapping[str, str]
) -> None:
    headers = {"Content-Type": "application/gzip", **condition}
    async with session.put(url, data=archive, headers=headers, allow_redirects=False) as response:
        if response.status in _CHANGED:
            raise PublishError(
                "somebody else published meanwhile", where=url, hint="Look at what is there, then try again."
            )
        if response.status not in _DONE:
            raise _unexpected("PUT", response.status, url)


def _unexpected(method: str, status: int, url: str) -> PublishError:
    return PublishError(f"the server answered {method} with HTTP status {status}", where=url)


def _check_url(url: str, token: str | None) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError("the target is no http or https URL", where=url)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the URL holds a password", hint="Put a token into a file, and name it with --token-file."
        )
    if token and parts.scheme == "http" and not is_loopback(parts.hostname):
        raise UsageError("a token would go over the network in the clear", where=url, hint="Use https.")
