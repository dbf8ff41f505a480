"""Talking to servers of OPA that others run, from an event loop: `opa-python-client` over a network."""

from __future__ import annotations

import io
import ssl

import aiohttp
from opa_client.opa_async import AsyncOpaClient

from ironcurtain.engine.answer import EngineAnswerError
from ironcurtain.engine.rest_api import (
    CONNECTIONS,
    LENIENT_DECISION,
    MAX_ANSWER,
    STRICT_DECISION,
    as_body,
    too_long,
    too_slow,
    unreachable,
)
from ironcurtain.model.reserved_rules import ReservedRule

# What is longer is sent piece by piece, so that other calls go on meanwhile.
_MAX_AT_ONCE = 1 << 16


class DecisionClient(AsyncOpaClient):  # type: ignore[misc] # the library has no types
    """An OPA client: kept-alive connections, no retries, nothing from the environment.

    Args:
        root: The address of OPA's REST API, with its version.
        token: The bearer token, if OPA wants one.
        timeout: Bounds of one request, waiting for a free connection included.
    """

    def __init__(self, root: str, token: str | None, timeout: aiohttp.ClientTimeout) -> None:
        # OPA compresses large answers for whoever can read them, which costs more than a local socket.
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        super().__init__(host="opa", token=token, headers=headers, retries=0, timeout=timeout.total)
        self.root_url = root
        self._bounds = timeout

    def connector(self) -> aiohttp.BaseConnector:
        """Return how OPA is reached; called in the event loop that the client is used from."""
        raise NotImplementedError

    async def _init_session(self) -> None:
        self._connector = self.connector()
        self._session = aiohttp.ClientSession(
            headers=self.headers,
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self._bounds,
            trust_env=False,
        )

    async def decide(self, policy_input: bytes, *, strict: bool = True) -> tuple[int, bytes]:
        """Ask for the decision on a policy input (the JSON text of an object); return HTTP status and body.

        The text is sent as it is: `query_rule` would parse and serialise it once more. Without `strict`
        an error of a built-in leaves a rule undefined.

        Raises:
            EngineAnswerError: `engine-timeout`, `engine-unreachable`, `engine-dead` for a client that was
                closed, or `engine-malformed` for an answer that is too long.
        """
        url = f"{self.root_url}/{STRICT_DECISION if strict else LENIENT_DECISION}"
        text = as_body(policy_input)
        body = text if len(text) <= _MAX_AT_ONCE else io.BytesIO(text)
        try:
            async with self._request("POST", url, data=body, allow_redirects=False) as response:
                return response.status, await _body(response)
        except aiohttp.ConnectionTimeoutError:
            raise EngineAnswerError(
                ReservedRule.ENGINE_UNREACHABLE,
                f"the engine could not be connected to within {self._bounds.sock_connect:g} s",
            ) from None
        except TimeoutError:
            raise too_slow(self.timeout) from None
        except aiohttp.ClientConnectorCertificateError as error:
            raise EngineAnswerError(
                ReservedRule.ENGINE_UNREACHABLE, "its certificate is not trusted"
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise unreachable(error) from error
        except (AttributeError, RuntimeError) as error:
            # What the two libraries make of a request through what has just been closed.
            if self._session is not None and not self._session.closed:
                raise
            raise EngineAnswerError(ReservedRule.ENGINE_DEAD, "the engine was closed") from error


class NodeClient(DecisionClient):
    """A client of an OPA at an address.

    Args:
        url: The address of OPA's server, without a slash at its end.
        token: The bearer token, if it wants one.
        tls: How its certificate is checked.
        timeout: Seconds for one request.
        connect: Seconds of these for reaching it.
    """

    def __init__(
        self, url: str, token: str | None, tls: ssl.SSLContext, *, timeout: float, connect: float
    ) -> None:
        bounds = aiohttp.ClientTimeout(total=timeout, sock_connect=connect)
        super().__init__(f"{url}/v1", token, bounds)
        self._tls = tls

    def connector(self) -> aiohttp.BaseConnector:
        """Return the way through the network."""
        return aiohttp.TCPConnector(ssl=self._tls, limit=CONNECTIONS)


async def _body(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > MAX_ANSWER:
            response.close()
            raise too_long()
    return bytes(content)
