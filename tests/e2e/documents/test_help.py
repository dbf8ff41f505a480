from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest
from e2e.program import ROOT, Inside, environment, program
from support.machines.first_pages import commands

from ironcurtain.cli.main import EXIT_CODES, cli
from ironcurtain.errors import Exit

HEAVY = {"aiohttp", "anthropic", "jsonschema", "mcp", "opa_client", "pydantic", "requests", "ruamel"}
ROW = re.compile(r"^(?:\| | +)(\d+)[ |]+(.+?)(?: \|)?$", re.MULTILINE)


TREE = list(commands(cli))


def test_the_tree_is_whole() -> None:
    assert {path[0] for path in TREE if path} >= {"bundle", "compile", "decide", "input", "opa", "verify"}
    assert ("opa", "install") in TREE


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "1e999"])
def test_no_option_takes_what_is_no_number(text: str) -> None:
    checked = 0
    for path in TREE:
        command: click.Command = cli
        for name in path:
            assert isinstance(command, click.Group)
            command = command.get_command(click.Context(command), name) or command
        for option in command.params:
            if isinstance(option.type, click.types.FloatParamType):
                checked += 1
                with pytest.raises(click.BadParameter):
                    option.type(text, option, None)
    assert checked >= 10


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_help_tells_what_the_command_does(path: tuple[str, ...], inside: Inside) -> None:
    ended = inside(*path, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert "Example" in ended.out
    assert "Exit" in ended.out or path == ("opa",)
    assert r"\b" not in ended.out


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_help_loads_nothing_heavy(path: tuple[str, ...]) -> None:
    code = (
        "import sys\nfrom ironcurtain.cli.main import run\n"
        f"run({[*path, '--help']!r})\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert "click" in ended.stderr.split()
    assert not HEAVY & set(ended.stderr.split())


def test_one_table_of_exit_codes() -> None:
    in_help = ROW.findall(EXIT_CODES)
    section = (ROOT / "docs" / "commands.md").read_text().split("## Exit codes")[1].split("##")[0]
    assert [int(code) for code, _ in in_help] == sorted(Exit)
    assert ROW.findall(section) == in_help


@pytest.mark.parametrize("argument", ["decied", "--no-such-option", "", "\ud800"])
def test_a_command_that_is_none(argument: str, inside: Inside) -> None:
    ended = inside(argument)
    assert (ended.code, ended.out, ended.codes) == (2, "", ["IC1001"])
    assert "hint: `ironcurtain --help`" in ended.err


def test_no_command_shows_the_help_and_is_no_success(inside: Inside) -> None:
    ended = inside()
    assert (ended.code, ended.out) == (2, "")
    assert "Author a policy:" in ended.err


@pytest.mark.parametrize(
    ("given", "meant"), [("verfy", "verify"), ("guarantee", "guarantees"), ("aprovals", "approvals")]
)
def test_a_command_that_is_nearly_one_is_named(given: str, meant: str, inside: Inside) -> None:
    assert f'There is no command "{given}". Did you mean "{meant}"?' in inside(given).err


def test_every_command_stands_in_one_group_of_the_help(inside: Inside) -> None:
    shown = re.findall(r"^  ([a-z]+) +[A-Z]", inside("--help").out, re.MULTILINE)
    assert sorted(shown) == sorted(set(cli.list_commands(click.Context(cli))))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_as_the_page_sets_it_up(shell: str) -> None:
    assert f"_IRONCURTAIN_COMPLETE={shell}_source ironcurtain" in (ROOT / "docs" / "install.md").read_text()
    ended = program(_IRONCURTAIN_COMPLETE=f"{shell}_source")
    assert (ended.code, ended.err) == (0, "")
    assert f"_IRONCURTAIN_COMPLETE={shell}_complete" in ended.out


def test_version() -> None:
    ended = program("--version")
    assert (ended.code, ended.err) == (0, "")
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", ended.out)


def test_weakening_has_no_environment_form() -> None:
    for path in TREE:
        context = click.Context(cli)
        command: click.Command = cli
        for name in path:
            assert isinstance(command, click.Group)
            found = command.get_command(context, name)
            assert found is not None
            command = found
        names = [option for parameter in command.params for option in parameter.opts]
        assert "--exit-zero" not in names
        if path and path[0] in {"decide", "input", "verify"}:
            assert not [parameter.name for parameter in command.params if parameter.envvar]
