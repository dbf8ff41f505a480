"""One form of the bundle in all commands: an option or the first argument, and never from an unsafe place."""

from __future__ import annotations

import shutil
from pathlib import Path

import click
import pytest
from e2e.program import ROOT, Inside
from support.projects.planted import bundle_of

from ironcurtain.cli.main import cli

OFFICE = ROOT / "examples" / "office"
ENFORCING = {"decide", "input", "pdp", "proxy", "wrap"}
MAKING = {"bundle", "compile"}
"""They make a bundle; what they write is no argument of theirs."""

OPTION_ALONE = {"serve", "start", "web"}
"""Their first argument is the file of the tools, or the task, or they go without: it is an option alone."""

COMPARING = "diff"
"""It has the old bundle as its first argument, and the new one in the form of all others behind it."""

CALL = ["files", "read_file", '{"path": "/home/user/Documents/a"}']
HOME = ["--home", "/home/user"]
RULES = [
    {
        "name": "allow-read",
        "then": "allow",
        "if": {"tool": ["read_file"], "paths": {"roles": ["read-path"], "within": ["~/Documents"]}},
    }
]
COMMANDS: list[list[str]] = [
    ["decide", *HOME, *CALL],
    ["decide", *HOME, "--batch", "calls.jsonl"],
    ["input", *HOME, *CALL],
    ["explain", *HOME, *CALL],
    ["explain", "--clause", "C1"],
    ["matrix"],
    ["narrow"],
    ["narrow", "files"],
    ["narrow", "files", "read_file"],
    ["guarantees", "--file", "guarantees.yaml"],
    ["findings"],
    ["coverage"],
    ["mutation"],
    ["attack", "--maximum", "5"],
    ["verify"],
    ["forecast", "--profile", "profile.yaml"],
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a project whose published bundle decides one tool."""
    root = tmp_path_factory.mktemp("project")
    bundle = bundle_of({"tools": ["read_file"], "rules": RULES})
    (root / "generated" / "bundle").mkdir(parents=True)
    for name, data in bundle.files.items():
        path = root / "generated" / "bundle" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (root / "ironcurtain.toml").write_text('model = "manual"\n')
    (root / "below").mkdir()
    (root / "below" / "calls.jsonl").write_text(
        '{"id": 1, "server": "files", "tool": "read_file", "arguments": {"path": "/a"}}\n'
    )
    (root / "below" / "guarantees.yaml").write_text(
        "format: ironcurtain/guarantees/v1\nguarantees:\n"
        "  - {id: g, never: allow, when: {tool: [read_file], roles: [read-path], within: [/etc]}}\n"
    )
    (root / "below" / "profile.yaml").write_text(
        "format: ironcurtain/profile/v1\nsessions: 1\ncalls:\n"
        "  - {server: files, tool: read_file, arguments: {path: /home/user/Documents/a}, count: 1}\n"
    )
    (root / "generated" / "test-scenarios.json").write_text(
        '{"format": "ironcurtain/scenarios/v1", "world": {"home": "/home/user"}, "scenarios": [{"id": "a", '
        '"call": {"server": "files", "tool": "read_file", "arguments": {"path": "/home/user/Documents/a"}}, '
        '"expect": "allow", "clause": "C1"}]}'
    )
    return root


def commands() -> dict[str, click.Command]:
    """Return the commands by name."""
    assert isinstance(cli, click.Group)
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def with_bundle() -> list[str]:
    names = sorted(commands().keys() - MAKING - {COMPARING} - OPTION_ALONE)
    return [name for name in names if any("--bundle" in each.opts for each in commands()[name].params)]


def test_every_command_about_a_bundle_is_one_of_these() -> None:
    assert set(with_bundle()) == {command[0] for command in COMMANDS} | {
        "advise", "blame", "doctor", "drift", "pdp", "proxy", "publish", "replay", "wrap",
    }  # fmt: skip


def test_no_command_takes_a_bundle_in_another_form() -> None:
    for name, command in commands().items():
        shown = {word for each in command.params for word in (each.name, (each.metavar or "").strip("[]"))}
        assert name in (*with_bundle(), *MAKING, COMPARING, *OPTION_ALONE) or not shown & {
            "bundle",
            "BUNDLE",
        }, name


def test_diff_takes_the_new_bundle_as_others_do(project: Path, inside: Inside) -> None:
    below, bundle = project / "below", "../generated/bundle"
    default = inside("diff", bundle, cwd=below)
    assert default.code == 0, default.err
    assert inside("diff", bundle, bundle, cwd=below) == default
    assert inside("diff", bundle, "--bundle", bundle, cwd=below) == default
    two = inside("diff", bundle, "other.tar.gz", "--bundle", bundle, cwd=below)
    assert (two.code, two.codes) == (2, ["IC1001"])


@pytest.mark.parametrize("name", with_bundle())
def test_every_command_shows_both_forms(name: str, inside: Inside) -> None:
    shown = " ".join(inside(name, "--help").out.split())
    assert f"Usage: ironcurtain {name} [OPTIONS] [BUNDLE]" in shown
    assert "--bundle B Bundle directory or .tar.gz, also as the first argument" in shown
    assert ("always needed" in shown) == (name in ENFORCING)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_both_forms_and_the_default_do_the_same(command: list[str], project: Path, inside: Inside) -> None:
    below = project / "below"
    name, *more = command
    option = inside(name, "--bundle", "../generated/bundle", *more, cwd=below)
    assert option.code in (0, 1), option.err
    assert inside(name, "../generated/bundle", *more, cwd=below) == option
    both = inside(name, "../generated/./bundle", *more, "--bundle", "../generated/bundle", cwd=below)
    assert (both.code, both.out) == (option.code, option.out)
    if name not in ENFORCING:
        assert inside(name, *more, cwd=below) == option


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_two_different_bundles_are_a_mistake(command: list[str], project: Path, inside: Inside) -> None:
    name, *more = command
    ended = inside(name, "other.tar.gz", *more, "--bundle", "../generated/bundle", cwd=project / "below")
    assert (ended.code, ended.out, ended.codes) == (2, "", ["IC1001"])
    assert 'two bundles are given: --bundle "../generated/bundle" and "other.tar.gz"' in ended.err


@pytest.mark.parametrize(
    "command",
    [
        ["decide", *HOME, *CALL],
        ["input", *HOME, *CALL],
        ["proxy", "--servers", "mcp-servers.json"],
        ["wrap", "mcp.json"],
        ["wrap", "--print", "--servers", "mcp-servers.json"],
    ],
    ids=" ".join,
)
def test_what_enforces_takes_no_bundle_from_where_it_is_run(
    command: list[str], project: Path, inside: Inside
) -> None:
    """A directory that an agent works in could hold a policy that allows everything."""
    for name in ("mcp.json", "mcp-servers.json"):
        (project / name).write_text('{"mcpServers": {"files": {"command": "files"}}}')
    ended = inside(*command, cwd=project)
    assert (ended.code, ended.out, ended.codes) == (2, "", ["IC1001"])
    assert "no bundle is given" in ended.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["matrix", "a", "b"], 'unexpected argument "b"'),
        (["decide", "a", *CALL, "more"], 'unexpected argument "more"'),
        (["decide", "a", *CALL[:2]], "or the first argument, before [SERVER TOOL ARGUMENTS]"),
        (["input", "--bundle", "a", *CALL[:2]], "give SERVER TOOL ARGUMENTS"),
        (["replay", "--bundle", "a"], "give AUDIT"),
        (["publish"], "give DIR|URL"),
        (["wrap", "a", "b", "c"], 'unexpected argument "c"'),
        (["matrix"], "there is no bundle"),
        (["publish", "somewhere"], "there is no bundle"),
    ],
    ids=str,
)
def test_what_is_missing_or_too_much_is_said(
    command: list[str], said: str, tmp_path: Path, inside: Inside
) -> None:
    ended = inside(*command, cwd=tmp_path)
    assert (ended.code, ended.codes) == (2, ["IC1001"])
    assert said in ended.err


def test_publish_finds_the_signed_archive_of_its_project(tmp_path: Path, inside: Inside) -> None:
    shutil.copytree(OFFICE, tmp_path / "office")
    (tmp_path / "office" / "generated" / "bundle.signed.tar.gz").write_bytes(b"no archive")
    (tmp_path / "office" / "below").mkdir()
    ended = inside("publish", "somewhere", cwd=tmp_path / "office" / "below")
    assert ended.code != 0
    assert "there is no bundle" not in ended.err
