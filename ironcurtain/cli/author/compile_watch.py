"""What `ironcurtain compile --watch` does: compile, wait until a file changes, compile again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from ironcurtain.analysis.matrix.changes import matrix_changes, scenario_changes
from ironcurtain.analysis.matrix.report import Matrix
from ironcurtain.bundle.published import TEST_SCENARIOS
from ironcurtain.cli.author.compile_settings import read_settings, read_sources
from ironcurtain.cli.main import run as run_command
from ironcurtain.cli.options.project import Project
from ironcurtain.cli.options.watching import changes, tree
from ironcurtain.compiler.llm.question_files import ANSWER
from ironcurtain.compiler.load.sources import ANSWERS_FILE, Sources, shown_path
from ironcurtain.compiler.verify.evidence import FILE_NAME
from ironcurtain.errors import Exit, IronCurtainError
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.servers.permitted import project_servers
from ironcurtain.settings import FILE_NAME as SETTINGS
from ironcurtain.system.files import load
from ironcurtain.system.text import visible

_SHOWN = 20


class _Watched:
    """The files that a compile reads; settings may name other ones in the next round.

    Args:
        project: The project when the command began.
        given: The places that the command line or the environment names, by option.
    """

    def __init__(self, project: Project, given: Mapping[str, object]) -> None:
        self._file = project.file
        self._given = {name: str(value) for name, value in given.items() if value is not None}
        self.root = project.root
        self._settings = project.file or project.root / SETTINGS
        self._fixed: set[Path] = set()
        self.sources: Sources
        self.read_again()

    def read_again(self) -> None:
        """Read which files count; settings that cannot be read leave it as it was."""
        try:
            _, values = read_settings(str(self._file) if self._file is not None else None)
            paths = {name: str(value) for name, value in values.items() if value is not None}
            sources = read_sources(self.root, {**_places(paths), **self._given})
        except IronCurtainError:
            if not self._fixed:
                raise
            return
        self.sources = sources
        named = (
            *(sources.constitution, sources.user_constitution, sources.servers, sources.scenarios),
            *(sources.lists, sources.confirmations, sources.guarantees),
        )
        self._fixed = {
            self._settings,
            sources.scenarios.with_name(ANSWERS_FILE),
            *(path for path in named if path is not None),
            *_saved_tools(sources.servers),
        }

    def files(self) -> set[Path]:
        """Return the files that count now, be they there or not."""
        questions = self.sources.pending.parent
        answers = {questions / f"any{ANSWER}", *questions.glob(f"*{ANSWER}")}
        custom = tree(self.sources.custom) if self.sources.custom is not None else set()
        return {path.absolute() for path in (*self._fixed, *answers, *custom)}


def watch_compile(project: Project, given: Mapping[str, object], arguments: Sequence[str]) -> Exit:
    """Compile, and compile again after each change, until Ctrl-C."""
    again = [*(each for each in arguments if each != "--watch"), "--brief"]
    watched = _Watched(project, given)
    status: Exit | None = None
    for changed in changes(watched.files):
        if status is Exit.YES and all(map(_was_taken, changed)):
            continue
        if changed:
            names = ", ".join(visible(shown_path(path, watched.root)) for path in changed)
            click.echo(f"\nchanged: {names}", err=True)
        watched.read_again()
        before = _published(watched.sources.output)
        status = run_command(again)
        if status is Exit.INTERRUPTED:
            return status
        for line in _result(status, watched.sources.output, before):
            click.echo(line, err=True)
    raise AssertionError  # unreachable: changes end with Ctrl-C


def _was_taken(path: Path) -> bool:
    """Tell whether a file is an answer that is gone: a compile that publishes takes it into its own."""
    return path.name.endswith(ANSWER) and not path.exists()


def _places(values: Mapping[str, str]) -> dict[str, str]:
    """Return what the settings say of places, without the other defaults of options."""
    known = (*Sources.__struct_fields__, "questions")
    return {name: value for name, value in values.items() if name in known}


def _saved_tools(servers: Path) -> set[Path]:
    try:
        configured = project_servers(servers).servers.values()
    except IronCurtainError:
        return set()
    return {servers.parent / each.tools for each in configured if each.tools is not None}


def _published(output: Path) -> tuple[Matrix, Scenarios] | None:
    """Return the records of what is published; None where nothing is, or nothing that can be read."""
    try:
        return load(output / FILE_NAME, Matrix), load(output / TEST_SCENARIOS, Scenarios)
    except IronCurtainError:
        return None


def _result(status: Exit, output: Path, before: tuple[Matrix, Scenarios] | None) -> Iterator[str]:
    """Yield what came of a round, in short."""
    if status is not Exit.YES:
        state = "the last published policy stays" if before is not None else "nothing is published yet"
        yield f"watching: not published; {state}"
        return
    after = _published(output)
    if before is None or after is None:
        yield f"watching: published {visible(output.name)}"
        return
    lines = [
        *scenario_changes(before[1].scenarios, after[1].scenarios),
        *matrix_changes(before[0], after[0]),
    ]
    yield f"watching: published {visible(output.name)}; " + (
        "decided otherwise:" if lines else "nothing is decided otherwise"
    )
    yield from (f"  {line}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"  and {len(lines) - _SHOWN} more: `ironcurtain matrix` shows what is decided now"
