from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.program import ROOT, Inside

from ironcurtain import errors
from ironcurtain.cli.output.problems import print_failure
from ironcurtain.errors import Exit, FormatError, IronCurtainError, OpenQuestionError, Place, SeveralErrors

PAGES = ROOT / "docs" / "errors"


def classes(base: type[IronCurtainError]) -> Iterator[type[IronCurtainError]]:
    if "code" in vars(base):  # the families have none
        yield base
    for each in base.__subclasses__():
        yield from classes(each)


ALL = sorted(classes(IronCurtainError), key=lambda each: each.code)


def test_every_code_is_one_class() -> None:
    assert len({each.code for each in ALL}) == len(ALL)
    assert {each.__module__ for each in ALL} == {errors.__name__}


def test_every_page_has_its_class() -> None:
    assert {path.stem for path in PAGES.iterdir()} == {each.code for each in ALL} | {"README"}


@pytest.mark.parametrize("error", ALL, ids=lambda each: each.code)
def test_every_class_has_its_page(error: type[IronCurtainError]) -> None:
    text = (PAGES / f"{error.code}.md").read_text()
    assert text.startswith(f"# {error.code}: ")
    assert "\n## What to do\n\n" in text
    if error is not SeveralErrors:
        assert f"\nExit code: {int(error.exit)}\n" in text
        assert f"{'waiting' if error is OpenQuestionError else 'error'}[{error.code}]: " in text


@pytest.mark.parametrize("code", ["IC3201", "ic3201", "3201"])
def test_a_page_is_printed_as_it_is(code: str, inside: Inside) -> None:
    ended = inside("error", code)
    assert (ended.code, ended.out) == (0, (PAGES / "IC3201.md").read_text())


def test_all_errors_are_listed(inside: Inside) -> None:
    listed = [line.partition(":")[0] for line in inside("error").out.splitlines()]
    assert listed == sorted(each.code for each in ALL)


def test_an_error_that_is_none(inside: Inside) -> None:
    ended = inside("error", "../IC3201")
    assert (ended.code, ended.codes) == (2, ["IC1001"])


def test_the_form_of_an_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    where = Place(str(ROOT / "LICENSE"), 2, 34)
    assert print_failure(FormatError("bad \x1b[31m \\", where=where, hint="Fix it."), debug=False) == 2
    assert capsys.readouterr().err == (
        "error[IC1003]: bad \\x1b[31m \\\n"
        "  --> LICENSE:2:34\n"
        "   |                                  Apache License\n"
        "  hint: Fix it.\n"
        "  see: ironcurtain error IC1003\n"
    )


def test_a_bug_has_a_status_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    bug = RuntimeError("secret")
    assert print_failure(bug, debug=False) == Exit.BUG
    said = capsys.readouterr().err
    assert said.startswith("error[IC0001]: a bug in IronCurtain: RuntimeError\n")
    assert "secret" not in said
    assert print_failure(bug, debug=True) == Exit.BUG
    assert "RuntimeError: secret" in capsys.readouterr().err


def test_debug_shows_where_an_error_comes_from(inside: Inside) -> None:
    plain = inside("schema", "nonsense")
    debug = inside("--debug", "schema", "nonsense")
    assert (plain.code, debug.code) == (2, 2)
    assert "Traceback" not in plain.err
    assert "Traceback" in debug.err
    assert plain.err in debug.err
