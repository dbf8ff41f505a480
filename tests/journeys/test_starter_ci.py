"""The script for CI that `init` writes: it passes on what is committed, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable

from support.machines.journey import Journey


def test_the_script_passes_only_where_the_whole_policy_is_committed(agent: Callable[..., Journey]) -> None:
    you = agent("starter-ci", "CI of a new project", "")
    you.commits("The policy")
    assert "verified  sha256:" in you.run("sh ci/ironcurtain.sh")
    you.run("git rm -q --cached generated/bundle/.manifest generated/tools/filesystem.json")
    you.write(".gitignore", you.read(".gitignore") + "/generated/tools/\n")
    you.run("git -c user.name=you -c user.email=you@example.com commit -qam 'Some of it'")
    said = you.run("sh ci/ironcurtain.sh", 1).replace("\r", "")
    assert "not committed:\ngenerated/bundle/.manifest\ngenerated/tools/filesystem.json" in said
