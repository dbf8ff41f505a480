"""Which hosts are this machine itself: what is sent to them crosses no network, and needs no encryption."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine: `localhost`, or an address that never leaves it.

    Args:
        host: In lower case, without a port and without the brackets of an IPv6 address.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
