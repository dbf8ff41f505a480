"""Stage 8, publish: the whole result replaces the previous one at once, or not at all.

All files are written and synced in a directory beside the target, which is then exchanged with it in one
step of the kernel. A reader that opens the target sees the old set or the new one, never a mix.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.provenance import statement
from ironcurtain.bundle.provenance_model import Provenance, Source
from ironcurtain.bundle.published import PROVENANCE, SIGNED_ARCHIVE, TEST_SCENARIOS
from ironcurtain.compiler.load.load import Inputs
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.verify.baseline import Baseline
from ironcurtain.compiler.verify.evidence import FILE_NAME
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.errors import BusyError, PublishError
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.servers.tool_lists.published import recorded_files
from ironcurtain.servers.tools import Tools, tool_digest
from ironcurtain.system import json_text
from ironcurtain.system.files import sync_directory, unwritten
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.locks import work_lock
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted


class Documents(Struct):
    """The files for people and for the next compile, before they are written."""

    annotations: Annotations
    policy: CompiledPolicy
    lists: Lists
    recorded: Baseline
    verification: Verification
    tools: Tools


def origin(
    sources: tuple[Source, ...], inputs: Inputs, cache: AnswerCache, documents: Documents
) -> Provenance:
    """Say what the bundle was made from, by digests; nothing in it depends on the machine or the time."""
    tools = documents.tools
    digests = {server: {tool.name: tool_digest(tool) for tool in listed} for server, listed in tools.items()}
    return Provenance(
        sources=sources,
        constitution=json_text.digest_bytes(inputs.constitution.encode()),
        tools=json_text.digest(digests),
        prompts=json_text.digest(sorted(answer.question for answer in cache.used)),
        scenarios=json_text.digest_bytes(_document(documents.recorded.scenarios)),
        answered_by=tuple(sorted({f"{a.provider}:{a.model}" if a.model else a.provider for a in cache.used})),
        checks={check.name: check.count for check in documents.verification.checks},
        version=version("ironcurtain"),
    )


def archives(bundle: Bundle, sign: Callable[[Bundle], Bundle] | None) -> dict[str, bytes]:
    """Return the archives, signed if that is wanted, and the statement of where they came from."""
    made = {"bundle.tar.gz": bundle.archive()}
    if sign is not None:
        made[SIGNED_ARCHIVE] = sign(bundle).archive()
    about = statement(bundle, made).model_dump(mode="json", by_alias=True)
    return {**made, PROVENANCE: json_text.pretty(about).encode()}


def files(bundle: Bundle, documents: Documents, cache: AnswerCache) -> dict[str, bytes]:
    """Return the content of every file of the published directory, by relative path."""
    return {
        **{f"bundle/{path}": data for path, data in bundle.files.items()},
        "tool-annotations.json": _document(documents.annotations),
        "compiled-policy.json": _document(documents.policy),
        "dynamic-lists.json": _document(documents.lists),
        TEST_SCENARIOS: _document(documents.recorded.scenarios),
        FILE_NAME: documents.recorded.evidence.matrix_file,
        "verification.json": json_text.pretty(documents.verification.model_dump(mode="json")).encode(),
        **recorded_files(documents.tools),
        **{f"answers/{name}": data for name, data in cache.files().items()},
    }


def _document(model: Frozen) -> bytes:
    """Serialise as it was written: only what was set, so that the file stays readable."""
    return json_text.pretty(model.model_dump(mode="json", by_alias=True, exclude_unset=True)).encode()


OURS = frozenset(
    {
        "answers",
        "bundle",
        SIGNED_ARCHIVE,
        "bundle.tar.gz",
        "compiled-policy.json",
        "decision-matrix.json",
        "dynamic-lists.json",
        PROVENANCE,
        TEST_SCENARIOS,
        "tool-annotations.json",
        "tools",
        "verification.json",
    }
)
"""All that may lie in the published directory: whatever else is there is somebody's work."""

_FILE = 0o644
_DIRECTORY = 0o755
"""The modes of what is published."""

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


@contextmanager
def only_one(target: Path) -> Iterator[None]:
    """Hold the right to compile into a directory; the lock file `.<name>.lock` lies beside it.

    Raises:
        BusyError: If another process holds it.
        PublishError: If the lock cannot be made, or the directory holds what compile did not write.
    """
    target = target.absolute()
    busy = BusyError(
        "another process is compiling into this directory", where=str(target), hint="Wait until it is done."
    )
    with ExitStack() as held:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            held.enter_context(work_lock(target.parent / f".{target.name}.lock", seconds=0, busy=busy))
        except OSError as error:
            raise PublishError(
                f"the directory cannot be locked: {error.strerror}", where=str(target)
            ) from error
        _refuse_foreign(target)
        yield


def publish(target: Path, files: Mapping[str, bytes]) -> None:
    """Replace a directory by one that holds exactly these files (content by relative path).

    One that holds them already is left as it is.

    Raises:
        PublishError: If anything fails; the previous directory is then as it was, and nothing is left over.
    """
    target = Path(os.path.realpath(target))
    _refuse_foreign(target)
    fresh: Path | None = None
    try:
        if _holds(target, files):
            return
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.new-"))
        _write(fresh, files)
        replace_directory(fresh, target)
    except OSError as error:
        raise unwritten("the result", target, error) from error
    finally:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)


def _refuse_foreign(target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise PublishError("the output is no directory", where=str(target), hint="Name another --output.")
    foreign = sorted(entry.name for entry in target.iterdir() if entry.name not in OURS)
    if foreign:
        raise PublishError(
            f"the directory holds {quoted(foreign[0])}, which compile did not write and would remove",
            where=str(target),
            hint="Move it elsewhere, or name another --output.",
        )


def _holds(directory: Path, files: Mapping[str, bytes]) -> bool:
    """Tell whether a directory is what `_write` makes of some files: their content, and nothing else."""
    folders = {parent.as_posix() for path in files for parent in PurePosixPath(path).parents}
    wanted = {
        **dict.fromkeys(folders, stat.S_IFDIR | _DIRECTORY),
        **dict.fromkeys(files, stat.S_IFREG | _FILE),
    }
    found = {".": directory.stat().st_mode} if directory.is_dir() else {}
    for folder, below, names in os.walk(directory):
        for place in (Path(folder, name) for name in (*below, *names)):
            found[place.relative_to(directory).as_posix()] = place.lstat().st_mode
    return found == wanted and all((directory / path).read_bytes() == data for path, data in files.items())


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    for name, data in sorted(files.items()):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        path.chmod(_FILE)
    for folder, _, _ in os.walk(directory):
        Path(folder).chmod(_DIRECTORY)
        sync_directory(Path(folder))


def replace_directory(fresh: Path, target: Path) -> None:
    """Put `fresh` in the place of `target`; afterwards `fresh` is gone or holds what was there before."""
    if not target.exists():
        fresh.rename(target)
    elif not _exchange(fresh, target):
        # No atomic exchange here: the target is missing for a moment, but never mixed.
        old = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}.old-"))
        target.rename(old / "old")
        try:
            fresh.rename(target)
        except OSError:
            (old / "old").rename(target)
            raise
        finally:
            shutil.rmtree(old, ignore_errors=True)
    sync_directory(target.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two directories in one step; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        return False
    result = libc.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    code = ctypes.get_errno()
    if result != 0 and code not in _CANNOT_EXCHANGE:
        raise OSError(code, os.strerror(code), str(other))
    return bool(result == 0)
