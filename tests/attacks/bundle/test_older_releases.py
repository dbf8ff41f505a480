"""Somebody who can write the bundle's place puts an older release there, with a signature that is good.

Held by: the serial of the policy that runs is the least.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from support.deployments.proxied import LONG, Place, rules, until
from support.projects.policies import rule
from support.records.signing import with_serial

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.signing.keys import PrivateKey, new_key
from ironcurtain.bundle.signing.signature import sign

CLOSED = [rule("no-echo", "deny", tool=["echo"]), *rules()]


class Released(Place):
    """A place whose bundles are signed releases."""

    key: PrivateKey

    def release(self, made: list[dict[str, Any]], serial: int) -> None:
        """Put a release where the proxy takes it."""
        written = self.publish(made, self.names)
        signed = sign(with_serial(Bundle.parse(written.read_bytes()), serial), self.key)
        scratch = self.root / "signed.tar.gz"
        scratch.write_bytes(signed.archive())
        scratch.replace(self.bundle)


def test_an_older_signed_release_at_a_reload(tmp_path: Path) -> None:
    place = Released(tmp_path.resolve())
    place.key = new_key(place.root / "key.pem", "ES256")
    public = place.root / "key.pub.pem"
    public.write_text(place.key.public.pem)
    place.release(CLOSED, 8)

    def refused(serial: int) -> bool:
        reason = f"the bundle has serial {serial - 1}, and one of serial {serial} runs"
        return any(told["reason"] == reason for told in events("reload-refused"))

    def events(name: str) -> list[dict[str, Any]]:
        return [record["detail"] for record in place.records() if record.get("event") == name]

    async def is_open(client: Client) -> bool:
        return not (await client.call_tool("fix__echo", {"data": len(place.decisions)})).is_error

    async def visit() -> None:
        async with place.client("--verify-key", str(public)) as client:
            await until(lambda: place.is_up("fix"))
            assert not await is_open(client)
            place.release(rules(), 7)
            await until(lambda: refused(8))
            assert not await is_open(client)
            # A newer one is taken, and is the least from then on.
            place.release(rules(), 9)
            with anyio.fail_after(LONG):
                while not await is_open(client):  # noqa: ASYNC110 - it is told of in no other way
                    await anyio.sleep(0.1)
            place.release(CLOSED, 8)
            await until(lambda: refused(9))
            assert await is_open(client)

    anyio.run(visit)
