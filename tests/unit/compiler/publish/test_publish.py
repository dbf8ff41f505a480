"""Publishing: all or nothing."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fixtures.tiny_project import tree

from ironcurtain.compiler.publish.publish import only_one, publish
from ironcurtain.errors import BusyError, PublishError

OLD = {"compiled-policy.json": b"old", "bundle/.manifest": b"old", "answers/a.json": b"old"}
NEW = {"compiled-policy.json": b"new", "bundle/.manifest": b"new", "answers/b.json": b"new"}


def test_the_new_set_replaces_the_old_one_entirely(tmp_path: Path) -> None:
    publish(tmp_path / "generated", OLD)
    publish(tmp_path / "generated", NEW)
    assert tree(tmp_path) == {f"generated/{name}": data for name, data in NEW.items()}


def test_what_holds_the_set_already_is_left_as_it_is(tmp_path: Path) -> None:
    publish(tmp_path / "generated", OLD)
    before = (tmp_path / "generated").stat().st_ino
    publish(tmp_path / "generated", OLD)
    assert (tmp_path / "generated").stat().st_ino == before


def other_mode(published: Path) -> None:
    (published / "bundle" / ".manifest").chmod(0o666)


def other_directory_mode(published: Path) -> None:
    (published / "bundle").chmod(0o777)


def link(published: Path) -> None:
    """Keep the content elsewhere, where it can change."""
    (published / "compiled-policy.json").rename(published.parent / "elsewhere")
    (published / "compiled-policy.json").symlink_to(published.parent / "elsewhere")


def linked_directory(published: Path) -> None:
    (published / "bundle").rename(published.parent / "elsewhere")
    (published / "bundle").symlink_to(published.parent / "elsewhere")


def more(published: Path) -> None:
    (published / "answers" / "b.json").write_text("more")


def more_directories(published: Path) -> None:
    (published / "answers" / "empty").mkdir()


def less(published: Path) -> None:
    (published / "answers" / "a.json").unlink()


@pytest.mark.parametrize(
    "change", [other_mode, other_directory_mode, link, linked_directory, more, more_directories, less]
)
def test_what_differs_in_anything_is_replaced(tmp_path: Path, change: Callable[[Path], None]) -> None:
    target = tmp_path / "generated"
    publish(target, OLD)
    change(target)
    before = target.stat().st_ino
    publish(target, OLD)
    assert target.stat().st_ino != before
    assert tree(target) == OLD
    assert not any(path.is_symlink() for path in target.rglob("*"))


def test_a_reader_never_sees_a_mix(tmp_path: Path) -> None:
    target = tmp_path / "generated"
    publish(target, OLD)
    seen: set[tuple[bytes, bytes]] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            handle = os.open(target, os.O_RDONLY)
            try:
                one = os.open("compiled-policy.json", os.O_RDONLY, dir_fd=handle)
                other = os.open("bundle/.manifest", os.O_RDONLY, dir_fd=handle)
                seen.add((os.read(one, 9), os.read(other, 9)))
                os.close(one)
                os.close(other)
            except FileNotFoundError:
                pass  # the whole set that was opened has gone; half of it would have been the failure
            finally:
                os.close(handle)

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(40):
        publish(target, NEW if turn % 2 else OLD)
    done.set()
    reader.join()
    assert seen <= {(b"old", b"old"), (b"new", b"new")}
    assert seen


def test_a_file_that_cannot_be_written_leaves_everything_as_it_was(tmp_path: Path) -> None:
    publish(tmp_path / "generated", OLD)
    with pytest.raises(PublishError):
        publish(tmp_path / "generated", {**NEW, f"answers/{'x' * 300}": b""})
    assert tree(tmp_path) == {f"generated/{name}": data for name, data in OLD.items()}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 256 KiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("mounting a small tmpfs needs root and the right to mount")
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_disk_leaves_everything_as_it_was(small_disk: Path) -> None:
    publish(small_disk / "generated", OLD)
    with pytest.raises(PublishError, match="No space left"):
        publish(small_disk / "generated", {**NEW, "bundle.tar.gz": b"x" * (1 << 20)})
    assert tree(small_disk) == {f"generated/{name}": data for name, data in OLD.items()}
    assert [path.name for path in small_disk.iterdir()] == ["generated"]


@pytest.mark.parametrize("name", ["notes.txt", ".git", "src"])
def test_somebodys_files_are_never_replaced(tmp_path: Path, name: str) -> None:
    target = tmp_path / "generated"
    target.mkdir()
    (target / name).write_text("mine")
    with pytest.raises(PublishError, match="did not write"):
        publish(target, NEW)
    with pytest.raises(PublishError, match="did not write"), only_one(target):
        pass
    assert tree(target) == {name: b"mine"}


def test_a_symlinked_output_stays_a_symlink(tmp_path: Path) -> None:
    publish(tmp_path / "real", OLD)
    (tmp_path / "generated").symlink_to(tmp_path / "real")
    publish(tmp_path / "generated", NEW)
    assert (tmp_path / "generated").is_symlink()
    assert tree(tmp_path / "real") == NEW


def test_one_compile_at_a_time(tmp_path: Path) -> None:
    with only_one(tmp_path / "generated"), pytest.raises(BusyError), only_one(tmp_path / "generated"):
        pass
    with only_one(tmp_path / "generated"):
        pass
    assert not (tmp_path / "generated").exists()
