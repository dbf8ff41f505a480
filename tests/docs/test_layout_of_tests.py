"""`tests/unit` mirrors the package, as CONTRIBUTING.md says."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
UNIT, PACKAGE = ROOT / "tests" / "unit", ROOT / "ironcurtain"


def names_in(place: Path) -> set[str]:
    """Return the names of a package, of its modules and of the packages in it."""
    within = place.iterdir() if place.is_dir() else ()
    return {place.name, *(each.stem for each in within if each.is_dir() or each.suffix == ".py")}


def test_each_file_of_unit_tests_is_named_as_what_it_tests() -> None:
    """In the place of a module or package, with its name; behind an underscore, what of it."""
    found = {path: path.stem.removeprefix("test_") for path in UNIT.rglob("test_*.py")}
    strangers = [
        str(path.relative_to(UNIT))
        for path, name in found.items()
        if not any(
            name == each or name.startswith(f"{each}_")
            for each in names_in(PACKAGE / path.parent.relative_to(UNIT))
        )
    ]
    assert len(found) > 100
    assert sorted(strangers) == []
