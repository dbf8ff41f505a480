"""What is told of many new repositories at once."""

from __future__ import annotations

from pathlib import Path

from ironcurtain.enforcement.sandbox.reach.opened import Look, NewRepositories

WORK, NOTES = Path("/work"), Path("/notes")


def many(place: Path, count: int) -> frozenset[Path]:
    return frozenset(place / f"{number:03d}" / ".git" for number in range(count))


def look(new: frozenset[Path], gone: frozenset[Path] = frozenset()) -> Look:
    return Look(new, gone, ceased=False)


def test_a_repository_hidden_behind_a_hundred_others_is_counted() -> None:
    seen = NewRepositories().of(look(many(WORK, 103)), ())
    assert len(seen) == 101
    assert {each.kind for each in seen} == {"violation"}
    assert seen[-1].text == "3 more new repositories, which are not named"


def test_what_a_server_was_let_make_hides_nothing() -> None:
    made = NOTES / "made/.git"
    seen = NewRepositories().of(look(many(WORK, 200) | {made}), [WORK])
    assert [each.kind for each in seen].count("violation") == 1
    assert str(made) in seen[0].text
    assert (seen[-1].kind, seen[-1].text[:4]) == ("repository", "101 ")


def test_what_was_counted_is_not_told_again() -> None:
    told, new = NewRepositories(), many(WORK, 103)
    told.of(look(new), ())
    assert told.of(look(new), ()) == []
    assert len(told.of(look(frozenset({WORK / "102/.git"}), gone=frozenset({WORK / "102/.git"})), ())) == 1
