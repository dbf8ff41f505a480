"""What `ironcurtain publish` does."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.bundle.to_directory import publish_to_directory
from ironcurtain.bundle.to_server import publish_to_server
from ironcurtain.cli.run_key import default_key, public_beside
from ironcurtain.errors import Exit, UsageError
from ironcurtain.files import read_text
from ironcurtain.text import visible

_SCHEMES = ("http://", "https://")
_MAX_TOKEN = 16 << 10


def run(
    *,
    target: str,
    bundle: str,
    verify_key: str | None,
    name: str,
    token_file: str | None,
    format_: str,
) -> Exit:
    """Verify a bundle and put it where it is fetched from."""
    key = Path(verify_key) if verify_key is not None else public_beside(default_key())
    verified = open_bundle(Path(bundle), Trust.of(verify_key=key))
    if target.lower().startswith(_SCHEMES):
        changed = publish_to_server(verified.archive(), target, _token(token_file))
    elif token_file is not None:
        raise UsageError("a directory takes no token")
    else:
        changed = publish_to_directory(verified.archive(), Path(target), name)
    if format_ == "json":
        facts = {"published": changed, "revision": verified.revision, "serial": verified.serial}
        click.echo(json.dumps({**facts, "target": target}))
    else:
        done = "published" if changed else "already there:"
        click.echo(f"{done} serial {verified.serial}, revision {verified.revision}")
        click.echo(f"  to {visible(target)}")
    return Exit.YES


def _token(path: str | None) -> str | None:
    """Read a bearer token; never from an option's value, which other users of the machine can see."""
    if path is None:
        return None
    token = read_text(Path(path), max_bytes=_MAX_TOKEN).strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("the file holds no bearer token", where=path)
    return token
