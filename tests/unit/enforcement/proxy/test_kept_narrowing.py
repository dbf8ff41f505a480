"""What is kept of a policy's tools counts for that policy and place alone, and where it is ours alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.projects.shipped import GENERATED

from ironcurtain.analysis.narrowing.report import NarrowedTool, Narrowing
from ironcurtain.enforcement.proxy.kept_narrowing import kept_narrowing
from ironcurtain.errors import VerificationError
from ironcurtain.policy import Policy
from ironcurtain.settings import narrowing_directory
from ironcurtain.system.kept_results import MOST


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRONCURTAIN_HOME", str(tmp_path / "own"))


class Worker:
    """Works it out, and counts how often."""

    def __init__(self, policy: Policy) -> None:
        self.times, self._revision = 0, policy.revision

    def __call__(self) -> Narrowing:
        self.times += 1
        return Narrowing(
            revision=self._revision, tools=(NarrowedTool(server="fs", tool="read", reachable=True),)
        )


def policy_at(sandbox: Path, *protected: str) -> Policy:
    sandbox.mkdir(exist_ok=True)
    return Policy.load(GENERATED / "bundle", sandbox=sandbox, protected=protected)


def test_the_same_policy_at_the_same_place_is_worked_out_once(tmp_path: Path) -> None:
    policy = policy_at(tmp_path / "work", "/srv/a", "/srv/b")
    worker = Worker(policy)
    first = kept_narrowing(policy, worker)
    again = policy_at(tmp_path / "work", "/srv/b", "/srv/a")
    assert (kept_narrowing(again, worker), worker.times) == (first, 1)
    (kept,) = narrowing_directory().iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


def test_another_place_is_another_result(tmp_path: Path) -> None:
    for name in ("work", "other"):
        policy = policy_at(tmp_path / name)
        worker = Worker(policy)
        kept_narrowing(policy, worker)
        assert worker.times == 1
    assert len(list(narrowing_directory().iterdir())) == 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda kept: kept.chmod(0o666),
        lambda kept: kept.parent.chmod(0o777),
        lambda kept: kept.write_text("{}"),
        lambda kept: kept.write_text(kept.read_text()[:-1]),
        lambda kept: kept.write_text(kept.read_text().replace("sha256:", "sha256:0", 1)[:80]),
    ],
    ids=["writable file", "writable directory", "empty", "cut off", "other revision"],
)
def test_what_others_could_have_written_or_is_damaged_is_worked_out_anew(
    tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    policy = policy_at(tmp_path / "work")
    worker = Worker(policy)
    kept_narrowing(policy, worker)
    (kept,) = narrowing_directory().iterdir()
    spoil(kept)
    kept_narrowing(policy, worker)
    assert worker.times == 2


def test_a_place_that_cannot_be_written_costs_only_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("IRONCURTAIN_HOME", str(tmp_path / "file"))
    policy = policy_at(tmp_path / "work")
    worker = Worker(policy)
    assert kept_narrowing(policy, worker) == kept_narrowing(policy, worker)
    assert worker.times == 2


def test_a_failure_is_not_kept_and_old_results_go(tmp_path: Path) -> None:
    policy = policy_at(tmp_path / "work")

    def failing() -> Narrowing:
        raise VerificationError("it decides otherwise")

    with pytest.raises(VerificationError):
        kept_narrowing(policy, failing)
    assert not narrowing_directory().exists()
    narrowing_directory().mkdir(parents=True)
    for number in range(MOST + 3):
        (narrowing_directory() / f"{number}.json").write_text("{}")
    kept_narrowing(policy, Worker(policy))
    assert len(list(narrowing_directory().iterdir())) == MOST
