"""What `ironcurtain proxy` does."""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp.shared.exceptions import MCPDeprecationWarning

from ironcurtain.cli.review.run_decide import caller_facts
from ironcurtain.enforcement.approvals.hook import HookCommand
from ironcurtain.enforcement.proxy.audit_options import Values
from ironcurtain.enforcement.proxy.configuration import places_that_run
from ironcurtain.enforcement.proxy.runner import ProxyOptions, own_places, run_proxy
from ironcurtain.enforcement.proxy.transport.http import Address
from ironcurtain.enforcement.proxy.transport.http_clients import HttpClients, clients_file, read_or_make
from ironcurtain.errors import Exit, IronCurtainError, UsageError
from ironcurtain.policy import Policy
from ironcurtain.servers.parent_death import adopting
from ironcurtain.system.frozen import Json
from ironcurtain.system.text import printable, visible

_LAST_THREADS = 1.0

_TRUSTED = {
    "verify_key": "the key that the signature is checked with",
    "engine_ca": "the certificates that engines are known by",
    "engine_token_file": "the engine's token",
    "http_clients": "the tokens of clients",
}
"""By option: a file that decides whom the proxy trusts."""


def run(**chosen: Any) -> Exit:  # noqa: ANN401 - the options of the command
    """Serve until the client goes or a signal comes."""
    serve(options_of(**chosen))
    return Exit.YES


def options_of(
    *,
    bundle: str,
    servers: str | None,
    protected: tuple[str, ...],
    verify_key: str | None,
    engine_ca: str | None,
    engine_token_file: str | None,
    caller: str | None,
    session: str | None,
    http: str | None,
    http_clients: str | None,
    http_open: bool,
    http_anywhere: bool,
    patience: float,
    answer_within: float,
    no_approver: bool,
    on_approval: str | None,
    trust_client: bool,
    observe: bool,
    audit_values: Values,
    audit_redact: tuple[str, ...],
    audit_max_bytes: int,
    witness: str | None,
    telemetry: bool,
    **site: Json,
) -> ProxyOptions:
    """Return what the options of the command ask for."""
    if servers is None:
        raise UsageError("the proxy needs --servers FILE", hint="Name your mcp-servers.json.")
    own = [*own_places(), *places_that_run(site.get("sandbox"))]
    hook = _hook(on_approval, nobody=no_approver)
    told = {f"what --on-approval runs, {path.name},": path for path in (hook.files if hook else ())}
    named = filter(None, (verify_key, http_clients, witness))
    places = [*protected, *map(str, (*own, *told.values())), *named]
    vouching: dict[str, Json] = {
        "verify_key": verify_key,
        "engine_ca": engine_ca,
        "engine_token_file": engine_token_file,
    }
    trusted = {**vouching, "http_clients": http_clients}
    address = Address.parse(http, anywhere=http_anywhere) if http is not None else None
    return ProxyOptions(
        load=partial(Policy.load, bundle, servers=servers, protected=places, **vouching, **site),
        bundle=Path(bundle),
        servers=Path(servers),
        files={_TRUSTED[name]: Path(path) for name, path in trusted.items() if path} | told,
        session=session,
        http=address,
        clients=_clients(address, http_clients, is_open=http_open),
        patience=patience,
        seconds=answer_within,
        approver=not no_approver,
        on_approval=hook,
        client_person=trust_client,
        caller=caller_facts(caller) or {},
        observe=observe,
        audit_values=audit_values,
        audit_redact=frozenset(audit_redact),
        audit_max_bytes=audit_max_bytes,
        telemetry=telemetry,
        witness=Path(witness) if witness is not None else None,
    )


def serve(options: ProxyOptions) -> None:
    """Run the proxy; of several errors at once the first one is told."""
    _keep_quiet()
    gc.freeze()  # a collection in the middle of a call would look through all that was imported
    try:
        with adopting():
            anyio.run(run_proxy, options, say, backend_options={"use_uvloop": True})
    except* IronCurtainError as group:
        first: BaseException = group
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise first from None
    _leave_what_hangs()


def _leave_what_hangs() -> None:
    """Exit at once where a thread does not end; all is recorded, and the interpreter would wait for it."""
    end = time.monotonic() + _LAST_THREADS
    others = [each for each in threading.enumerate() if each is not threading.main_thread()]
    waited_for = [each for each in others if not each.daemon]
    for thread in waited_for:
        thread.join(max(0.0, end - time.monotonic()))
    if any(thread.is_alive() for thread in waited_for):
        sys.stderr.flush()
        os._exit(Exit.YES)


def _hook(command: str | None, *, nobody: bool) -> HookCommand | None:
    if command is None:
        return None
    if nobody:
        raise UsageError(
            "--no-approver asks nobody, so --on-approval would tell nobody", hint="Give one of them."
        )
    return HookCommand.parse(command)


def _clients(address: Address | None, named: str | None, *, is_open: bool) -> HttpClients | None:
    """Return who may connect; None where nobody is asked, or the kernel says who it is."""
    if is_open and named is not None:
        raise UsageError("--http-open and --http-clients exclude each other", hint="Give one of them.")
    if address is None or address.path is not None or is_open:
        return None
    path = Path(named) if named is not None else clients_file()
    say(f"clients over HTTP show a token of {visible(str(path))} (Authorization: Bearer TOKEN)")
    return read_or_make(path)


def say(text: str) -> None:
    """Tell the person who started the proxy."""
    # The parent may have closed its end; that is no reason to stop serving.
    try:
        sys.stderr.write(f"ironcurtain: {printable(text)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _keep_quiet() -> None:
    """Nothing of a library's reaches the person unescaped: what has to be said, we say."""
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Printable("ironcurtain: %(message)s"))
    for name in ("ironcurtain", "opentelemetry"):
        told = logging.getLogger(name)
        told.addHandler(handler)
        told.setLevel(logging.ERROR)
        told.propagate = False
    for name in ("mcp", "client", "uvicorn", "httpx2"):
        logging.getLogger(name).addHandler(logging.NullHandler())
        logging.getLogger(name).propagate = False


class _Printable(logging.Formatter):
    """One safe line a message; tracebacks stay away, the exception's name stays."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        record.exc_info, record.exc_text = None, None
        text = super().format(record)
        return printable(f"{text} ({type(error).__name__}: {error})" if error else text)
