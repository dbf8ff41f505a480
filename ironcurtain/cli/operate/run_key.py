"""What the commands of `ironcurtain key` do."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.domain import read_domain
from ironcurtain.bundle.domain import sign_domain as sign_domain_file
from ironcurtain.bundle.signing.keys import (
    Algorithm,
    PublicKey,
    new_key,
    read_private_key,
    read_public_key,
)
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.errors import Exit
from ironcurtain.settings import user_directory
from ironcurtain.system.files import atomic_write, read_bytes
from ironcurtain.system.text import visible

_PRIVATE = "signing-key.pem"
_MARK = b"PRIVATE KEY"


def new(*, output: str | None, algorithm: Algorithm, format_: str) -> Exit:
    """Make a key pair."""
    path = Path(output) if output is not None else default_key()
    key = new_key(path, algorithm).public
    beside = public_beside(path)
    atomic_write(beside, key.pem.encode())
    _print(key, format_, private=str(path), public=str(beside))
    return Exit.YES


def show(*, key: str | None, format_: str) -> Exit:
    """Print what a key is called and what it signs with."""
    _print(_public(_path(key)), format_)
    return Exit.YES


def public(*, key: str | None, format_: str) -> Exit:
    """Print a public key."""
    found = _public(_path(key))
    if format_ == "json":
        click.echo(json.dumps({found.id: {"algorithm": found.algorithm, "key": found.pem}}))
    else:
        click.echo(found.pem, nl=False)
    return Exit.YES


def sign_domain(*, file: str, output: str, key: str | None) -> Exit:
    """Sign the configuration of a domain."""
    signed = sign_domain_file(read_domain(Path(file)), read_private_key(_path(key)))
    atomic_write(Path(output), signed)
    return Exit.YES


def default_key() -> Path:
    """Return the file of the user's own private key: beside what no tool call can reach."""
    return user_directory() / _PRIVATE


def public_beside(path: Path) -> Path:
    """Return the file of the public key that `key new` writes beside a private one."""
    return path.with_name(f"{path.stem}.pub.pem")


def signer(key: str | None) -> Callable[[Bundle], Bundle]:
    """Return what signs bundles with the private key that is named, or with the user's own.

    Raises:
        FileError: If there is none, or others can read it.
        FormatError: If it is none that can be used.
    """
    return partial(sign, key=read_private_key(_path(key)))


def _path(key: str | None) -> Path:
    return Path(key) if key is not None else default_key()


def _public(path: Path) -> PublicKey:
    private = _MARK in read_bytes(path)
    return read_private_key(path).public if private else read_public_key(path)


def _print(key: PublicKey, format_: str, **files: str) -> None:
    facts = {"id": key.id, "algorithm": key.algorithm, **files}
    if format_ == "json":
        click.echo(json.dumps(facts))
    else:
        for name, value in facts.items():
            click.echo(f"{name + ':':11}{visible(value)}")
