"""`ironcurtain bundle`: from hand-written rules and annotations to a checked bundle, without a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import FORMAT, KEY, OPA, QUIET, SIGN
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import quoted

if TYPE_CHECKING:
    from ironcurtain.bundle.archive import Bundle
    from ironcurtain.model.annotations import Annotations

_ARCHIVE = ".tar.gz"
_NAMED = 5


@click.command()
@click.option("--policy", metavar="FILE", required=True, help="Rules: compiled-policy.json.")
@click.option("--annotations", metavar="FILE", required=True, help="tool-annotations.json.")
@click.option("--lists", metavar="FILE", help="Named lists: dynamic-lists.json.")
@click.option("--custom", metavar="DIR", help="Directory of the project's own Rego modules.")
@click.option(
    "--serial", type=click.IntRange(min=0), default=0, show_default=True, help="The policy's serial number."
)
@SIGN
@KEY
@OPA
@click.option(
    "-o", "--output", metavar="PATH", required=True, help="A directory, or a file ending in .tar.gz."
)
@FORMAT
@QUIET
def command(
    *,
    policy: str,
    annotations: str,
    lists: str | None,
    custom: str | None,
    serial: int,
    sign: bool,
    key: str | None,
    opa: str | None,
    output: str,
    format_: str,
    quiet: bool,
) -> Exit:
    """Build a bundle from rules and annotations, and print its revision.

    The rules are rendered to Rego, checked and tested with OPA, and written only if all of that succeeds.

    \b
    Example:
      ironcurtain bundle --policy compiled-policy.json --annotations tool-annotations.json -o bundle

    \b
    Exit: 0 written, 1 OPA rejects the result, 2 a mistake in a file,
    3 no engine or not writable.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.signing import chosen_signer
    from ironcurtain.compiler.annotate.checks import check_annotations
    from ironcurtain.compiler.render.assemble import Release, assemble
    from ironcurtain.compiler.render.custom_modules import check_modules, read_modules
    from ironcurtain.compiler.verify.rego_check import check_rego
    from ironcurtain.decision.reserved_tools import listed_lines, with_reserved
    from ironcurtain.decision.roles import Registry
    from ironcurtain.engine.command import OpaCommand
    from ironcurtain.engine.locate import find
    from ironcurtain.model.annotations import Annotations
    from ironcurtain.model.lists import Lists
    from ironcurtain.model.policy import CompiledPolicy
    from ironcurtain.system.files import load

    if sign and not output.endswith(_ARCHIVE):
        raise UsageError("a signed bundle is an archive", hint="Let --output end in .tar.gz.")
    signed = chosen_signer(sign=sign, key=key)
    compiled = load(Path(policy), CompiledPolicy)
    annotated = with_reserved(load(Path(annotations), Annotations), compiled)
    registry = Registry(annotated.roles)
    check_annotations(annotated, registry)
    named = load(Path(lists), Lists) if lists is not None else None
    program = find(Path(opa) if opa is not None else None)
    engine = OpaCommand(program)
    bundle = assemble(
        compiled,
        annotated,
        named,
        registry=registry,
        release=Release(engine_version=program.version, serial=serial),
        custom=check_modules(read_modules(Path(custom)), engine, registry) if custom is not None else (),
    )
    check_rego(bundle, engine)
    _write(signed(bundle) if signed else bundle, Path(output))
    _warn_of_unexamined(annotated)
    for line in listed_lines(annotated, compiled):
        click.echo(f"note: {line}", err=True)
    if format_ == "json":
        click.echo(json.dumps({"revision": bundle.revision, "serial": bundle.serial}))
    elif not quiet:
        click.echo(bundle.revision)
    return Exit.YES


def _warn_of_unexamined(annotated: Annotations) -> None:
    """Say which tools the proxy will refuse: without a digest nothing tells that the live tool is the one."""
    from ironcurtain.decision.reserved_tools import is_reserved

    named = [
        "/".join(place)
        for place, tool in annotated.tools().items()
        if tool.schema_digest is None and not is_reserved(tool)
    ]
    if named:
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        shown = ", ".join(map(quoted, named[:_NAMED])) + more
        click.echo(f"warning: without a schema_digest `ironcurtain proxy` refuses {shown}", err=True)


def _write(bundle: Bundle, output: Path) -> None:
    from ironcurtain.system.files import atomic_write, unwritten

    try:
        if output.name.endswith(_ARCHIVE):
            atomic_write(output, bundle.archive())
        else:
            _write_directory(bundle, output.absolute())
    except OSError as error:
        raise unwritten("the bundle", output, error) from error


def _write_directory(bundle: Bundle, output: Path) -> None:
    """Write beside the target and swap: a bundle may be replaced, anything else there is left alone."""
    import tempfile

    from ironcurtain.compiler.publish.publish import replace_directory

    if output.is_symlink() or (output.exists() and not output.is_dir()):
        raise FileExistsError(17, "something that is no directory is there", str(output))
    if output.is_dir() and any(output.iterdir()) and not (output / ".manifest").is_file():
        raise FileExistsError(17, "the directory is not empty and holds no bundle", str(output))
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as temporary:
        fresh = Path(temporary) / "new"
        bundle.write_directory(fresh)
        replace_directory(fresh, output)
