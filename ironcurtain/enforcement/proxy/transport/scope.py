"""What the scope of an HTTP request says of its client, and the names of clients that show no token."""

from __future__ import annotations

CLIENT = "ironcurtain.client"
"""Where a request's scope says whose it is."""

PRINCIPAL = "ironcurtain.principal"
"""Where it says whom the client acts for, where clients show signed tokens."""

ON_SOCKET = "socket"
UNASKED = "http"
"""The names of whoever connects to our Unix socket, and of everybody where no token is asked for."""
