"""Collecting the benchmarks only when they are asked for, and judging their figures at the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.figures import Figures

_FIGURES = pytest.StashKey[Figures]()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    asked = parent.config.option.markexpr == "bench"
    # A file that the command line names is collected by pytest itself.
    given = parent.session.isinitpath(file_path)
    if asked and not given and file_path.match("bench_*.py"):
        module: pytest.Module = pytest.Module.from_parent(parent, path=file_path)
        return module
    return None


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Return the run's figures; each is printed as soon as it is known."""
    terminal = request.config.pluginmanager.get_plugin("terminalreporter")
    assert terminal is not None
    terminal.ensure_newline()
    return request.config.stash.setdefault(_FIGURES, Figures(terminal.write_line))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let the run fail where a figure was missed: after all of them, so that one run shows them all."""
    figures = session.config.stash.get(_FIGURES, None)
    if figures is not None and figures.missed and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
