"""What `make test` does about a test that fails: it tries a few once more, alone, and hides none of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.program import ROOT, Ended

HEAD = """
import os
from pathlib import Path

import pytest

def is_again(name):
    mark = Path(__file__).parent / name
    try:
        return mark.exists()
    finally:
        mark.touch()

def test_race():
    assert is_again("race")
"""
ALONE = "1 failed beside others and passed alone: a defect, of the test or of the product:\n"
NOT_ALONE = "1 failed beside others and did not pass alone:\n"


def whole_run(directory: Path, tests: str) -> Ended:
    """Run a race and other tests as `make test` does."""
    (directory / "test_it.py").write_text(HEAD + tests)
    (directory / "pytest.ini").touch()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # Of the plugins that are installed here, the one that is needed.
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    ended = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "whole_run.py"), "-n", "1", "-p", "no:cacheprovider"],
        cwd=directory,
        env=environment | plugins,
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def test_what_passes_alone_is_named_at_the_end_and_fails_nothing(tmp_path: Path) -> None:
    ended = whole_run(tmp_path, "")
    assert ended.code == 0, ended.out
    assert ended.out.endswith(f"\n{ALONE}  test_it.py::test_race\n")


@pytest.mark.parametrize(
    "wrong",
    ["assert False", "assert is_again('wrong'); pytest.skip()", "assert is_again('wrong'); os._exit(0)"],
)
def test_what_does_not_pass_alone_fails_the_run(tmp_path: Path, wrong: str) -> None:
    ended = whole_run(tmp_path, f"\ndef test_wrong():\n    {wrong}\n")
    assert ended.code == 1, ended.out
    assert ended.out.endswith(f"\n{NOT_ALONE}  test_it.py::test_wrong\n")


@pytest.mark.parametrize(
    "wrong",
    [
        "@pytest.mark.parametrize('n', range(10))\ndef test_wrong(n):\n    assert False\n",
        "def test_wrong():\n    os._exit(0)\n",
        "raise RuntimeError\n",
    ],
    ids=["more than a few", "a process that ended", "a file that cannot be collected"],
)
def test_what_is_no_race_is_not_tried_again(tmp_path: Path, wrong: str) -> None:
    ended = whole_run(tmp_path, f"\n{wrong}")
    assert ended.code != 0, ended.out
    assert "failed beside others" not in ended.out


SIGNALS = """
import os
import signal
import subprocess
import sys

def test_programs_heed_signals():
    heeded = "import signal as s; assert s.SIG_IGN not in map(s.getsignal, (s.SIGHUP, s.SIGINT))"
    subprocess.run([sys.executable, "-c", heeded], check=True)

def test_the_run_goes_on():
    os.kill(os.getpid(), signal.SIGHUP)
"""


@pytest.mark.parametrize("beside", [(), ("-n", "1")])
def test_programs_of_a_run_that_ignores_signals_heed_them(tmp_path: Path, beside: tuple[str, ...]) -> None:
    """As `nohup` and a shell without job control start one."""
    (tmp_path / "test_it.py").write_text(SIGNALS)
    (tmp_path / "pytest.ini").touch()
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    ended = subprocess.run(
        ["/bin/sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh", sys.executable, "-m", "pytest", *beside],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
