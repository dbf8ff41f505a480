"""What `ironcurtain publish` does."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.bundle.published import SIGNED_ARCHIVE
from ironcurtain.bundle.to_directory import publish_to_directory
from ironcurtain.bundle.to_server import publish_to_server
from ironcurtain.cli.evidence import bundle_or_project
from ironcurtain.cli.run_key import default_key, public_beside
from ironcurtain.errors import Exit, UsageError
from ironcurtain.files import read_token
from ironcurtain.text import visible

_SCHEMES = ("http://", "https://")


def run(
    *,
    target: str,
    bundle: str | None,
    verify_key: str | None,
    name: str,
    token_file: str | None,
    format_: str,
) -> Exit:
    """Verify a bundle and put it where it is fetched from."""
    key = Path(verify_key) if verify_key is not None else public_beside(default_key())
    verified = open_bundle(Path(bundle_or_project(bundle, name=SIGNED_ARCHIVE)), Trust.of(verify_key=key))
    if target.lower().startswith(_SCHEMES):
        token = read_token(Path(token_file)) if token_file is not None else None
        changed = publish_to_server(verified.archive(), target, token)
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
