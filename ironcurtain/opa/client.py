"""The one module that talks to OPA's server: `opa-python-client` over a Unix socket."""

from __future__ import annotations

import io
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
from opa_client.opa_async import AsyncOpaClient

from ironcurtain.opa.answer import EngineAnswerError

_DECISION = "data/ironcurtain/decision/decision"
_STRICT = urlencode({"provenance": "true", "strict-builtin-errors": "true"})
_LENIENT = urlencode({"provenance": "true"})
# More at once would only wait inside OPA instead of here, each holding its memory.
_CONNECTIONS = 32


class SocketClient(AsyncOpaClient):  # type: ignore[misc] # the library has no types
    """An OPA client on a Unix socket: kept-alive connections, no retries, nothing from the environment.

    Args:
        socket: The path of the socket.
        token: The bearer token of this start.
        timeout: Seconds for one request, waiting for a free connection included.
    """

    def __init__(self, socket: Path, token: str, timeout: float) -> None:
        # OPA compresses large answers for whoever can read them, which costs more than a local socket.
        headers = {"Accept-Encoding": "identity"}
        super().__init__(host="opa", token=token, headers=headers, retries=0, timeout=timeout)
        self._socket = socket

    async def _init_session(self) -> None:
        self._connector = aiohttp.UnixConnector(path=str(self._socket), limit=_CONNECTIONS)
        self._session = aiohttp.ClientSession(
            headers=self.headers,
            connector=self._connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=self.timeout),
            trust_env=False,
        )

    async def decide(self, policy_input: bytes, *, strict: bool = True) -> tuple[int, bytes]:
        """Ask for the decision on a policy input (the JSON text of an object); return HTTP status and body.

        The text is sent as it is: `query_rule` would parse and serialise it once more. Without `strict`
        an error of a built-in leaves a rule undefined.

        Raises:
            EngineAnswerError: `engine-timeout` or `engine-unreachable`.
        """
        url = f"{self.root_url}/{_DECISION}?{_STRICT if strict else _LENIENT}"
        body = io.BytesIO(b'{"input":' + policy_input + b"}")
        headers = {"Content-Type": "application/json"}
        try:
            async with self._request(
                "POST", url, data=body, headers=headers, allow_redirects=False
            ) as response:
                return response.status, await response.read()
        except TimeoutError:
            raise EngineAnswerError(
                "engine-timeout", f"the engine did not answer within {self.timeout:g} s"
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise EngineAnswerError(
                "engine-unreachable", f"the engine cannot be reached ({type(error).__name__})"
            ) from error
