"""The script for CI that `init` writes: it passes on what is committed, and on nothing else, and says why."""

from __future__ import annotations

from collections.abc import Callable

from support.machines.journey import Journey

RUN = "sh ci/ironcurtain.sh"


def test_the_script_passes_only_where_the_whole_policy_is_committed(agent: Callable[..., Journey]) -> None:
    you = agent("starter-ci", "CI of a new project", "")
    you.commits("The policy")
    assert "verified  sha256:" in you.run(RUN)
    you.run("git rm -q --cached generated/bundle/.manifest generated/tools/filesystem.json")
    you.write(".gitignore", you.read(".gitignore") + "/generated/tools/\n")
    you.run("git -c user.name=you -c user.email=you@example.com commit -qam 'Some of it'")
    assert last_line(you) == (
        "CI failed: not committed: generated/bundle/.manifest generated/tools/filesystem.json"
    )


def test_its_last_line_names_the_sentence_or_the_tool(agent: Callable[..., Journey]) -> None:
    """It compiled first, over what was published, and named nothing but a question's digest."""
    you = agent("starter-ci", "CI of a new project", "")
    you.commits("The policy")
    constitution = you.read("constitution.md")
    you.write(
        "constitution.md",
        constitution.replace("may read files in the Documents", "may read files in the home"),
    )
    said = "failed: sources: constitution.md changed since the bundle was compiled from it (C5)"
    assert last_line(you) == f"{said}, at constitution.md:15"
    you.write("constitution.md", constitution)
    tools = you.read("tools/filesystem.json")
    you.write(
        "tools/filesystem.json", tools.replace("Read the complete contents of a file as text", "Read it")
    )
    last = last_line(you)
    assert last.startswith("CI failed: no answer is kept for annotate-filesystem__read_file ")
    assert "filesystem/read_file" in last
    you.write("tools/filesystem.json", tools)
    matrix = you.read("generated/provenance.json")
    you.write("generated/provenance.json", matrix.replace("{", "{ ", 1))
    assert last_line(you).startswith("CI failed: generated is not what this compile makes")
    you.run("git checkout -q generated")
    assert "verified  sha256:" in you.run(RUN)
    assert you.run("git status --porcelain") == ""


def last_line(you: Journey) -> str:
    """Run the script, which fails, and return the last line that it prints."""
    return you.run(RUN, 1).replace("\r", "").rstrip().splitlines()[-1]
