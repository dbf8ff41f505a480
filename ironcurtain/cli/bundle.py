"""`ironcurtain bundle`: from hand-written rules and annotations to a checked bundle, without a model."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from ironcurtain.bundle.archive import Bundle
from ironcurtain.errors import PublishError
from ironcurtain.files import atomic_write, load
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.opa.command import OpaCommand
from ironcurtain.opa.locate import find
from ironcurtain.pipeline.annotation_checks import check_annotations
from ironcurtain.pipeline.assemble import Release, assemble
from ironcurtain.pipeline.bundle_checks import check_bundle
from ironcurtain.pipeline.custom import check_modules, read_modules
from ironcurtain.roles.registry import Registry

_FILE = click.Path(path_type=Path)
_ARCHIVE = ".tar.gz"


@click.command("bundle")
@click.option("--policy", "policy_file", required=True, type=_FILE, help="Rules: compiled-policy.json.")
@click.option("--annotations", "annotations_file", required=True, type=_FILE, help="tool-annotations.json.")
@click.option("--lists", "lists_file", type=_FILE, help="Named lists: dynamic-lists.json.")
@click.option("--custom", type=_FILE, help="Directory of the project's own Rego modules.")
@click.option(
    "--serial", type=click.IntRange(min=0), default=0, show_default=True, help="The policy's serial number."
)
@click.option(
    "--opa", "opa_path", type=_FILE, help="The OPA executable (default: see `ironcurtain opa which`)."
)
@click.option("-o", "--output", required=True, type=_FILE, help="A directory, or a file ending in .tar.gz.")
def command(
    policy_file: Path,
    annotations_file: Path,
    lists_file: Path | None,
    custom: Path | None,
    serial: int,
    opa_path: Path | None,
    output: Path,
) -> None:
    r"""Build a bundle from rules and annotations, and print its revision.

    The rules are rendered to Rego, checked and tested with OPA, and written only if all of that succeeds.

    \b
    Example:
      ironcurtain bundle --policy compiled-policy.json --annotations tool-annotations.json -o bundle
    \b
    Exit codes: 0 written, 1 OPA rejects the result, 2 a mistake in a file, 3 no engine or not writable.
    """
    annotations = load(annotations_file, Annotations)
    policy = load(policy_file, CompiledPolicy)
    lists = load(lists_file, Lists) if lists_file else None
    registry = Registry(annotations.roles)
    check_annotations(annotations, registry)
    found = find(opa_path)
    opa = OpaCommand(found)
    bundle = assemble(
        policy,
        annotations,
        lists,
        registry=registry,
        release=Release(engine_version=found.version, serial=serial),
        custom=check_modules(read_modules(custom), opa) if custom else (),
    )
    check_bundle(bundle, registry, opa)
    _write(bundle, output)
    click.echo(bundle.revision)


def _write(bundle: Bundle, output: Path) -> None:
    try:
        if output.name.endswith(_ARCHIVE):
            atomic_write(output, bundle.archive())
        else:
            _replace_directory(bundle, output)
    except OSError as error:
        raise PublishError(
            f"the bundle could not be written: {error.strerror or error}",
            where=str(output),
            hint="What was there before is untouched.",
        ) from error


def _replace_directory(bundle: Bundle, output: Path) -> None:
    """Write beside the target and swap: a bundle may be replaced, anything else there is left alone."""
    if output.is_symlink() or (output.exists() and not output.is_dir()):
        raise FileExistsError(17, "something that is no directory is there", str(output))
    if output.is_dir() and any(output.iterdir()) and not (output / ".manifest").is_file():
        raise FileExistsError(17, "the directory is not empty and holds no bundle", str(output))
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=f".{output.name}.") as temporary:
        new, old = Path(temporary) / "new", Path(temporary) / "old"
        bundle.write_directory(new)
        if output.exists():
            output.rename(old)
        try:
            new.rename(output)
        except OSError:
            if old.exists():
                old.rename(output)
            raise
