"""The scratch directory of a live attack: what is read and changed in it shows, and it can be made anew."""

from __future__ import annotations

from pathlib import Path

from ironcurtain.analysis.attack.live import Scratch, marks_in
from ironcurtain.analysis.attack.spellings.spelling import Links


def test_what_is_changed_shows_and_is_made_anew(tmp_path: Path) -> None:
    scratch = Scratch.of(tmp_path, "/home/user", "/home/user/sandbox")
    files = scratch.files([f"{tmp_path}/home/Documents", "/etc"])
    links = Links()
    link = links.to(f"{tmp_path}/home/Documents", scratch.sandbox)
    scratch.restore(files, links)
    assert not any(path.startswith("/etc") for path in files)
    assert list(scratch.changed(files)) == []
    changed, gone, added = f"{link}/note.txt", f"{scratch.home}/note.txt", f"{scratch.sandbox}/new"
    Path(changed).write_text("other")
    Path(gone).unlink()
    Path(added).write_text("new")
    assert set(scratch.changed(files)) == {f"{tmp_path}/home/Documents/note.txt", gone, added}
    scratch.restore(files, links)
    assert list(scratch.changed(files)) == []


def test_a_mark_tells_which_file_was_read(tmp_path: Path) -> None:
    scratch = Scratch.of(tmp_path, "/home/user", "/work")
    assert scratch.sandbox == str(tmp_path / "work")
    files = scratch.files([])
    one, two, *_ = files
    assert marks_in(f"before {files[two]} after {files[one]}", files) == [one, two]
    assert marks_in("nothing", files) == []
