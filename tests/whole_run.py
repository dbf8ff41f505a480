"""Runs every test, and once more, alone, what failed beside others; `make test` calls it as it would pytest.

A test that passes alone is a defect all the same, of the test or of the product, and is named at the end.
More failures than a few are no race, and a run that broke off says nothing: these fail without a second try.
"""

from __future__ import annotations

import sys

import pytest

MOST = 10
"""Failures that are tried again at most."""
_ALONE = ["-n", "1", "--max-worker-restart", "0"]
_PHASES = {"setup", "call", "teardown"}


class Seen:
    """How the tests of a run ended.

    Attributes:
        passed: The ids of the tests that passed.
        failed: The ids of the tests that failed, or whose fixtures did.
        broke: Whether a file could not be collected, or a process of the run ended in the middle of a test.
    """

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: set[str] = set()
        self.broke = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.broke |= report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # What ran in a process that ended is told of as failed in no phase.
        self.broke |= report.when not in _PHASES
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.add(report.nodeid)


def main(options: list[str]) -> int:
    """Run the tests; return the exit code."""
    first, alone = Seen(), Seen()
    code = int(pytest.main(options, plugins=[first]))
    if code != pytest.ExitCode.TESTS_FAILED or first.broke or not 0 < len(first.failed) <= MOST:
        return code
    tell(f"\n{len(first.failed)} failed beside others. Once more, alone:\n\n")
    again = int(pytest.main([*_ALONE, *sorted(first.failed)], plugins=[alone]))
    passed = (first.failed & alone.passed) - alone.failed
    name("failed beside others and passed alone: a defect, of the test or of the product", passed)
    name("failed beside others and did not pass alone", first.failed - passed)
    return again if passed == first.failed else code


def name(what: str, tests: set[str]) -> None:
    """Name tests, a line each; say nothing where there are none."""
    if tests:
        tell("\n".join([f"\n{len(tests)} {what}:", *(f"  {each}" for each in sorted(tests)), ""]))


def tell(text: str) -> None:
    """Print now: what is run next prints, too."""
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
