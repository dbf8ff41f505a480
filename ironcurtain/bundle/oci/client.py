"""Pushing bundles to OCI registries and pulling them, by the distribution specification.

Every blob is held against its digest, and a manifest that is named by one. Nothing of the environment is
used. Redirects of a blob are followed anywhere, without what we show the registry; those of a manifest, which
a tag names without a digest, within the registry alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar
from urllib.parse import urljoin, urlsplit

import aiohttp

from ironcurtain.bundle.members import MAX_BYTES
from ironcurtain.bundle.oci.access import Challenge, RegistryAccess
from ironcurtain.bundle.oci.layout import (
    INDEX,
    MANIFEST,
    MAX_MANIFEST,
    Artifact,
    Reference,
    digest_of,
    layer_of,
)
from ironcurtain.bundle.publishing.rollback_check import replaces
from ironcurtain.errors import RegistryError, UsageError
from ironcurtain.system import json_text
from ironcurtain.system.structs import Struct

T = TypeVar("T")

_TIMEOUT = aiohttp.ClientTimeout(total=300)
_OK, _CREATED, _ACCEPTED, _UNAUTHORIZED, _NOT_FOUND = 200, 201, 202, 401, 404
_REDIRECTS = {301, 302, 303, 307, 308}
_MOST_REDIRECTS = 5
_MAX_TOKEN = 1 << 20
_CHUNK = 1 << 16


class Pulled(Struct):
    """A bundle as it was pulled.

    Attributes:
        archive: The archive, not yet trusted: its digest is what the manifest says.
        digest: Of the manifest.
    """

    archive: bytes
    digest: str


class _Response(Struct):
    status: int
    headers: Mapping[str, str]
    body: bytes


def push(archive: bytes, reference: Reference, access: RegistryAccess) -> tuple[str, bool]:
    """Push a verified bundle; return the digest of its manifest, and whether the tag was changed.

    A registry keeps no condition, so somebody who pushes in the same moment is seen only afterwards.

    Raises:
        UsageError: If the reference demands a digest.
        PublishError: If what the tag holds is newer, or is no bundle.
        RegistryError: If the registry cannot be reached, refuses, or does not hold what it was sent.
    """
    if reference.digest is not None or reference.tag is None:
        raise UsageError("a digest follows from the bundle", where=reference.text, hint="Name a tag alone.")
    return _answered(_push(archive, reference, access), reference)


def pull(reference: Reference, access: RegistryAccess) -> Pulled:
    """Pull a bundle.

    Raises:
        RegistryError: If the registry cannot be reached, has no bundle there, or its content has another
            digest.
    """
    return _answered(_pull(reference, access), reference)


def _answered(exchange: Coroutine[None, None, T], reference: Reference) -> T:
    try:
        return asyncio.run(exchange)
    except TimeoutError:
        raise RegistryError("the registry did not answer in time", where=reference.text) from None
    except (aiohttp.ClientError, OSError) as error:
        raise RegistryError(
            f"the registry cannot be reached ({type(error).__name__})",
            where=reference.text,
            hint="Without TLS a registry is spoken to on this machine only, or with --plain-http.",
        ) from error


async def _push(archive: bytes, reference: Reference, access: RegistryAccess) -> tuple[str, bool]:
    artifact = Artifact.of(archive)
    async with _opened(reference, access) as registry:
        held = await registry.bundle(reference.wanted)
        if held is not None and held.digest == artifact.digest:
            return artifact.digest, False
        if held is not None and not replaces(archive, held.archive, reference.text):
            return held.digest, False
        for blob in (artifact.config, artifact.layer):
            await registry.put_blob(blob)
        await registry.put_manifest(artifact.manifest, reference.wanted)
        manifest = await registry.bundle(reference.wanted)
        if manifest is None or manifest.digest != artifact.digest:
            raise RegistryError(
                "the tag does not hold what was pushed",
                where=reference.text,
                hint="Somebody pushed at the same time, or a cache answers in its place.",
            )
    return artifact.digest, True


async def _pull(reference: Reference, access: RegistryAccess) -> Pulled:
    async with _opened(reference, access) as registry:
        manifest = await registry.bundle(reference.wanted)
    if manifest is None:
        raise RegistryError("nothing is there", where=reference.text, hint="Look at the name and the tag.")
    return manifest


@asynccontextmanager
async def _opened(reference: Reference, access: RegistryAccess) -> AsyncIterator[_Registry]:
    async with aiohttp.ClientSession(
        headers={"Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=_TIMEOUT,
        trust_env=False,
        auto_decompress=False,
    ) as session:
        yield _Registry(session, reference, access)


class _Registry:
    """One repository of a registry."""

    def __init__(self, session: aiohttp.ClientSession, reference: Reference, access: RegistryAccess) -> None:
        self._session = session
        self._reference = reference
        self._access = access
        self._shown = f"Bearer {access.token}" if access.token else None
        scheme = "http" if reference.is_loopback or access.plain_http else "https"
        self._base = f"{scheme}://{reference.host}/v2/{reference.name}/"

    async def bundle(self, wanted: str) -> Pulled | None:
        """Return what a tag or digest names; None if that is nothing.

        Raises:
            RegistryError: If the registry fails, or what came is not what the digests name.
        """
        where = self._reference.text
        told = await self._send(
            "GET", f"manifests/{wanted}", headers={"Accept": f"{MANIFEST}, {INDEX}"}, most=MAX_MANIFEST
        )
        if told.status == _NOT_FOUND:
            return None
        self._expect(told, _OK, "GET of the manifest")
        digest = digest_of(told.body)
        if self._reference.digest not in (None, digest):
            raise RegistryError(f"the manifest that came has the digest {digest}", where=where)
        layer = layer_of(told.body, where)
        most = min(layer.size + 1, MAX_BYTES)
        blob = await self._send("GET", f"blobs/{layer.digest}", most=most, anywhere=True)
        self._expect(blob, _OK, "GET of the bundle")
        if len(blob.body) != layer.size or digest_of(blob.body) != layer.digest:
            raise RegistryError(
                "the bundle that came is not the one that the manifest names",
                where=where,
                hint="It was changed in the registry or on the way; nothing of it is used.",
            )
        return Pulled(blob.body, digest)

    async def put_blob(self, content: bytes) -> None:
        """Upload a blob unless it is there.

        Raises:
            RegistryError: If the registry fails, or sends the upload to another origin.
        """
        digest = digest_of(content)
        if (await self._send("HEAD", f"blobs/{digest}")).status == _OK:
            return
        begun = await self._send("POST", "blobs/uploads/")
        self._expect(begun, _ACCEPTED, "POST of an upload")
        place = self._address(urljoin(self._base, "blobs/uploads/"), begun.headers.get("Location", ""))
        if _origin(place) != _origin(self._base):
            raise RegistryError("the registry sends the upload elsewhere", where=self._reference.text)
        put = f"{place}{'&' if urlsplit(place).query else '?'}digest={digest}"
        headers = {"Content-Type": "application/octet-stream"}
        self._expect(await self._send("PUT", put, headers=headers, data=content), _CREATED, "PUT of a blob")

    async def put_manifest(self, content: bytes, tag: str) -> None:
        """Let a tag name a manifest."""
        told = await self._send("PUT", f"manifests/{tag}", headers={"Content-Type": MANIFEST}, data=content)
        self._expect(told, _CREATED, "PUT of the manifest")

    def _expect(self, told: _Response, status: int, what: str) -> None:
        if told.status == status:
            return
        refused = told.status in {401, 403}
        raise RegistryError(
            f"the registry answered {what} with HTTP status {told.status}",
            where=self._reference.text,
            hint="Sign in: --credentials-file, --token-file, or `docker login`." if refused else "",
        )

    async def _send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        data: bytes | None = None,
        most: int = MAX_MANIFEST,
        anywhere: bool = False,
    ) -> _Response:
        """Send a request, signed in if the registry wants that.

        Follow redirects of a GET: within the registry, or anywhere where what comes is known by its digest.
        """
        url = urljoin(self._base, path)
        told = await self._once(method, url, {**(headers or {}), **self._signed}, data, most)
        if told.status == _UNAUTHORIZED and await self._sign_in(told):
            told = await self._once(method, url, {**(headers or {}), **self._signed}, data, most)
        for _ in range(_MOST_REDIRECTS):
            if method != "GET" or told.status not in _REDIRECTS:
                break
            url = self._next(url, told.headers.get("Location", ""), anywhere=anywhere)
            same = _origin(url) == _origin(self._base)
            told = await self._once(method, url, self._signed if same else {}, None, most)
        return told

    @property
    def _signed(self) -> dict[str, str]:
        return {"Authorization": self._shown} if self._shown else {}

    def _next(self, url: str, location: str, *, anywhere: bool) -> str:
        to = self._address(url, location)
        if _origin(to) == _origin(self._base):
            return to
        if not anywhere:
            raise RegistryError("the registry sends for a manifest elsewhere", where=self._reference.text)
        if urlsplit(to).scheme != "https":
            raise RegistryError("the registry redirects to a place without TLS", where=self._reference.text)
        return to

    async def _sign_in(self, told: _Response) -> bool:
        """Get what the registry wants to see; tell whether there is something new to show."""
        if self._access.token is not None:
            return False
        header = told.headers.get("WWW-Authenticate", "")
        challenge = Challenge.parse(header, self._reference.text) if header else None
        before = self._shown
        if challenge is not None and challenge.scheme == "basic":
            self._shown = self._access.basic
        elif challenge is not None:
            self._shown = f"Bearer {await self._token(challenge)}"
        return self._shown is not None and self._shown != before

    async def _token(self, challenge: Challenge) -> str:
        basic = self._access.basic
        query = {
            key: challenge.parameters[key] for key in ("service", "scope") if key in challenge.parameters
        }
        async with self._session.get(
            challenge.realm(self._reference),
            params=query,
            headers={"Authorization": basic} if basic else {},
            allow_redirects=False,
        ) as response:
            body = await self._body(response, _MAX_TOKEN)
            status = response.status
        try:
            answer = json_text.parse(body.decode(), max_bytes=_MAX_TOKEN) if status == _OK else None
        except (UnicodeDecodeError, json_text.MalformedJsonError):
            answer = None
        token = (answer.get("token") or answer.get("access_token")) if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise RegistryError(
                f"the registry's token server answered with HTTP status {status} and no token",
                where=self._reference.text,
                hint="Look at the user and the password.",
            )
        return token

    async def _once(
        self, method: str, url: str, headers: Mapping[str, str], data: bytes | None, most: int
    ) -> _Response:
        async with self._session.request(
            method, url, headers=headers, data=data, allow_redirects=False
        ) as response:
            body = await self._body(response, most)
            return _Response(response.status, response.headers.copy(), body)

    async def _body(self, response: aiohttp.ClientResponse, most: int) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK):
            body += chunk
            if len(body) > most:
                raise RegistryError(f"more than {most:,} bytes came", where=self._reference.text)
        return bytes(body)

    def _address(self, base: str, location: str) -> str:
        """Return the address that a registry names."""
        try:
            address = urljoin(base, location)
            _origin(address)
        except ValueError:
            raise RegistryError(
                "the registry names an address that is none", where=self._reference.text
            ) from None
        return address


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port
