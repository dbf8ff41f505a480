"""Reading files that people write, and writing files so that nothing is ever half there.

`load` is the one way a document (annotations, rules, lists, scenarios, settings) enters the program:
size, encoding, syntax, format version and shape are checked, and all mistakes of a file are reported
together with their lines.
"""

from __future__ import annotations

import errno
import importlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from ironcurtain.errors import (
    FileError,
    FormatError,
    IronCurtainError,
    NewerFormatError,
    Place,
    PublishError,
    UsageError,
    raise_all,
)
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_BYTES = 8 << 20
_MAX_TOKEN = 16 << 10
_CHUNK = 4096
_YAML_SUFFIXES = {".yaml", ".yml"}
SCHEMA_KEY = "$schema"
"""The key by which JSON editors find a document's schema."""

M = TypeVar("M", bound=BaseModel)


def read_bytes(path: Path, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a regular file of bounded size.

    Raises:
        FileError: If it is missing, no file, unreadable or too large.
    """
    try:
        return read_regular(path, max_bytes=max_bytes)
    except FileNotFoundError:
        raise FileError("the file does not exist", where=str(path), hint="Check the path.") from None
    except OSError as error:
        raise FileError(f"the file cannot be read: {error.strerror}", where=str(path)) from error


def read_regular(path: Path | str, *, max_bytes: int) -> bytes:
    """Read a regular file of bounded size; a pipe or a device is not waited for.

    Raises:
        OSError: If it cannot be read, is anything else, or is larger.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:  # a stream around the handle costs more than the reading of a small file
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is a pipe, a device or a socket, not a file")
        data = _read_to(handle, max_bytes + 1, status.st_size) if status.st_size <= max_bytes else b""
    finally:
        os.close(handle)
    size = max(len(data), status.st_size)
    if size > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes:,} bytes ({size:,})")
    return data


def _read_to(handle: int, most: int, expected: int) -> bytes:
    """Read until the end or a number of bytes; a file may hold more than its status said, or less."""
    data = bytearray()
    while chunk := os.read(handle, min(max(expected, _CHUNK) + 1, most - len(data))):
        data += chunk
    return bytes(data)


def read_text(path: Path, *, max_bytes: int = MAX_BYTES) -> str:
    """Read a UTF-8 text file of bounded size that is not blank, without a byte-order mark.

    Raises:
        FileError: Naming the place of the first byte that is not UTF-8, or why else it cannot be read.
    """
    data = read_bytes(path, max_bytes=max_bytes)
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileError(
            f"the file is not UTF-8 (byte {error.start})",
            where=Place(str(path), line),
            hint="Save it in UTF-8.",
        ) from None
    if not text.strip():
        raise FileError("the file is empty", where=str(path))
    return text


def read_token(path: Path) -> str:
    """Read a bearer token from a file: an option's value is seen by every user of the machine.

    Raises:
        FileError: If the file cannot be read, or is empty.
        UsageError: If it holds anything but one token.
    """
    token = read_text(path, max_bytes=_MAX_TOKEN).strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("the file holds no bearer token", where=str(path))
    return token


def has_content(path: Path) -> bool:
    """Tell whether there is something other than an empty file or directory.

    An empty directory may stand in for a file that a running, contained server must not make.
    """
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    if stat.S_ISDIR(status.st_mode):
        return any(path.iterdir())
    return not (stat.S_ISREG(status.st_mode) and status.st_size == 0)


def load(path: Path, model: type[M]) -> M:
    """Read a JSON or YAML document and validate it as `model`.

    Raises:
        FileError: If it cannot be read.
        FormatError: For each mistake, with line and column where they are known.
        NewerFormatError: If a newer version wrote it.
    """
    return parse_document(read_text(path), str(path), model)


def parse_document(text: str, source: str, model: type[M]) -> M:
    """Validate the text of a document; `source` names it in errors and tells YAML from JSON by its suffix.

    The key `$schema`, by which editors find a document's JSON Schema, says nothing to us.
    """
    value = (
        _yaml().parse(text, source) if Path(source).suffix in _YAML_SUFFIXES else _json_value(text, source)
    )
    if isinstance(value, dict) and isinstance(value.get(SCHEMA_KEY), str):
        del value[SCHEMA_KEY]
    _check_format(value, source, model)
    try:
        return model.model_validate_json(json_text.canonical(value))
    except ValidationError as error:
        problems = error.errors()
        # What is wrong inside an array also leaves it short; only the first is the writer's mistake.
        own = [each for each in problems if each["type"] != "too_short" or not _has_inner(each, problems)]
        raise_all([_format_error(problem, text, source) for problem in own])
        raise  # unreachable: a ValidationError holds at least one problem


def _has_inner(problem: ErrorDetails, problems: Sequence[ErrorDetails]) -> bool:
    """Tell whether another problem lies inside the place of this one."""
    place = problem["loc"]
    return any(len(other["loc"]) > len(place) and other["loc"][: len(place)] == place for other in problems)


def absolute(path: str | Path) -> str:
    """Return a path made absolute and no more: the resolver looks at `..` and links, as the kernel does."""
    text = str(path)
    return text if text.startswith(("/", "~")) else f"{Path.cwd()}/{text}"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have errors of the system name a file: what is written to one that is open fails without a name."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def atomic_write(path: Path, data: bytes, *, mode: int = 0o644, owner: tuple[int, int] | None = None) -> None:
    """Write a file so that readers see the old content or the new, also after a crash.

    Args:
        path: The file.
        data: All that it will hold.
        mode: Its permissions.
        owner: Its user and group, if not the caller's own.

    Raises:
        OSError: If it cannot be written; the old file is then untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with naming(path), os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            if owner is not None:
                os.fchown(stream.fileno(), *owner)
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        with suppress(OSError):
            path.rmdir()  # an empty directory may stand in for the file, as `has_content` says
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def sync_directory(directory: Path) -> None:
    """Put the names in a directory on the disk; when this returns, a file that was moved there stays there.

    Raises:
        OSError: If that fails.
    """
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unwritten(what: str, where: Path, error: OSError) -> PublishError:
    """Return what is raised where a result cannot take the place of the one before."""
    return PublishError(
        f"{what} could not be written: {error.strerror or error}",
        where=str(where),
        hint="What was there before is untouched.",
    )


def _json_value(text: str, source: str) -> JsonValue:
    try:
        return json_text.parse(text, max_bytes=MAX_BYTES, any_double=True)
    except json_text.MalformedJsonError as error:
        place = Place(source, error.line, error.column)
        raise FormatError(f"not valid JSON: {visible(str(error))}", where=place) from None


def _yaml() -> ModuleType:
    """Load the YAML parser when a file is YAML or has a mistake: it is slow, and enforcement needs none."""
    return importlib.import_module("ironcurtain.system.yaml_text")


def _check_format(value: JsonValue, source: str, model: type[BaseModel]) -> None:
    """Tell a document of a newer version, or of another kind, from one with mistakes in it."""
    field = model.model_fields.get("format")
    given = json_text.members(value).get("format")
    if field is None or not isinstance(given, str):
        return
    expected: str = get_args(field.annotation)[0]
    kind, _, version = expected.rpartition("/v")
    found_kind, _, found_version = given.rpartition("/v")
    if found_kind == kind and found_version.isdigit() and int(found_version) > int(version):
        raise NewerFormatError(
            f"the file is of format {quoted(given)}; this IronCurtain reads {expected}",
            where=source,
            hint="Update IronCurtain.",
        )


def _format_error(problem: object, text: str, source: str) -> IronCurtainError:
    details = dict(problem)  # type: ignore[call-overload]
    steps = [step for step in details["loc"] if not (isinstance(step, str) and "[" in step)]
    pointer = "/" + "/".join(str(step) for step in steps) if steps else "the document"
    return FormatError(
        f"{visible(pointer)}: {visible(details['msg'])}",
        where=_yaml().place_of(text, source, steps),
    )
