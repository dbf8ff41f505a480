"""Which hosts are this machine itself."""

from __future__ import annotations

import pytest

from ironcurtain.system.loopback import is_loopback


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.53", "::1", "0:0:0:0:0:0:0:1"])
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "0.0.0.0",
        "10.0.0.1",
        "::",
        "127.1",
        "2130706433",
        "[::1]",
        "localhost.example",
        "127.0.0.1.example",
    ],
)
def test_any_other_host(host: str) -> None:
    """Short and numeric spellings of an address are names to us: what resolves them is not known."""
    assert not is_loopback(host)
