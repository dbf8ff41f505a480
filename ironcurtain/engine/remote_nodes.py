"""Which OPAs decide when others run them, and how one knows that it talks to them."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ironcurtain.errors import FileError, UsageError
from ironcurtain.system.files import read_text, read_token
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.loopback import is_loopback
from ironcurtain.system.structs import SecretStruct
from ironcurtain.system.text import visible


class Nodes(SecretStruct):
    """The OPAs of a policy plane, each with the same bundle.

    Attributes:
        urls: Their addresses, without a slash at the end; https, or http on this machine.
        token: The bearer token that all of them want, if any.
        ca: The certificates of the authorities that may vouch for them, PEM; None for the system's.
    """

    secret_fields = frozenset({"ca", "token"})

    urls: tuple[str, ...]
    token: str | None = None
    ca: str | None = None

    @classmethod
    def of(
        cls,
        urls: Sequence[str],
        *,
        ca: str | Path | None = None,
        token_file: str | Path | None = None,
    ) -> Nodes | None:
        """Read what the command line says; None if it names no node.

        Raises:
            UsageError: For an address that is none, is named twice, holds a password or could be read on
                its way; for files without nodes; for a file that holds no token.
            FileError: If a file cannot be read, or holds no certificate.
        """
        if not urls:
            if ca is not None or token_file is not None:
                raise UsageError("a CA file or a token needs a node to be used for", hint="Name an --engine.")
            return None
        addresses = tuple(_address(url) for url in urls)
        if len(set(addresses)) < len(addresses):
            raise UsageError("a node is named twice", hint="Name each --engine once.")
        authorities = read_text(Path(ca)) if ca is not None else None
        nodes = cls(addresses, read_token(Path(token_file)) if token_file is not None else None, authorities)
        if authorities is not None:
            try:
                nodes.tls()
            except ssl.SSLError:
                raise FileError("the file holds no certificate in PEM form", where=str(ca)) from None
        return nodes

    def tls(self) -> ssl.SSLContext:
        """Return how certificates are checked: by the named authorities, or by the system's.

        The system's are those that OpenSSL was built to use: `SSL_CERT_FILE` and its like have no say in
        who may decide.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self.ca is not None:
            context.load_verify_locations(cadata=self.ca)
            return context
        if not any(url.startswith("https:") for url in self.urls):
            return context  # reading the system's many certificates takes a while
        system = ssl.get_default_verify_paths()
        file, directory = Path(system.openssl_cafile), Path(system.openssl_capath)
        if file.is_file() or directory.is_dir():
            context.load_verify_locations(
                str(file) if file.is_file() else None, str(directory) if directory.is_dir() else None
            )
        return context


def _address(url: str) -> str:
    """Return an address in its plain form."""
    where = visible(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError("the node's address is no URL", where=where) from None
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "the node's address holds a password",
            hint="Put a token into a file, and name it with --engine-token-file.",
        )
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in {"http", "https"} or not parts.hostname or not plain:
        raise UsageError("the node's address is no http or https URL", where=where)
    if "?" in url or "#" in url:
        raise UsageError("the node's address has a query or a fragment", where=where)
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise UsageError(
            "calls would go over the network in the clear", where=where, hint="Use https, with --engine-ca."
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}:{port or default}{parts.path.rstrip('/')}"


class NodeStatus(Frozen):
    """One OPA that others run, as it answered last.

    Attributes:
        serves: Whether it decides by the bundle that is enforced.
        rule: Otherwise what stands in decisions that it could not make, as `engine-unreachable`.
        reason: In words.
    """

    url: str
    serves: bool
    rule: str = ""
    reason: str = ""
