"""What a server's command fetches, as its package runner takes it, and what is refused."""

from __future__ import annotations

import shlex

import pytest

from ironcurtain.errors import ServerConfigError
from ironcurtain.servers.fetched.request import request_of

FETCHES = [
    ("npx -y @official/server /data", "npm", ("@official/server",), None, ("/data",)),
    ("/usr/local/bin/npx some-server@1.2 --stdio", "npm", ("some-server@1.2",), None, ("--stdio",)),
    ("npx --package=@a/b --yes b-mcp -y", "npm", ("@a/b",), "b-mcp", ("-y",)),
    ("npx -p @a/b@^2 -p other b-mcp", "npm", ("@a/b@^2", "other"), "b-mcp", ()),
    ("npm exec -y -- @a/b --flag", "npm", ("@a/b",), None, ("--flag",)),
    ("npm x @a/b -- --flag", "npm", ("@a/b",), None, ("--flag",)),
    ("cmd /c npx -y @a/b", "npm", ("@a/b",), None, ()),
    (r"'C:\Program Files\nodejs\npx.cmd' @a/b", "npm", ("@a/b",), None, ()),
    ("'npx @playwright/mcp@latest'", "npm", ("@playwright/mcp@latest",), None, ()),
    ("bunx some-server", "npm", ("some-server",), None, ()),
    ("pnpm dlx some-server", "npm", ("some-server",), None, ()),
    ("uvx mcp-server-time --zone=UTC", "pypi", ("mcp-server-time",), None, ("--zone=UTC",)),
    ("uvx mcp-server-git@2.0.1", "pypi", ("mcp-server-git@2.0.1",), None, ()),
    ("uvx --from 'x[cli]>=1,<2' y z", "pypi", ("x[cli]>=1,<2",), "y", ("z",)),
    ("uvx --with requests --python 3.12 x", "pypi", ("x", "requests"), None, ()),
    ("uv tool run x", "pypi", ("x",), None, ()),
    ("pipx run --spec x==1.0 y", "pypi", ("x==1.0",), "y", ()),
    ("pipx run x", "pypi", ("x",), None, ()),
    ("uv run --with fastmcp fastmcp run server.py", "pypi", ("fastmcp",), "fastmcp", ("run", "server.py")),
    ("uv run --no-project --with=x --with y x-mcp --flag", "pypi", ("x", "y"), "x-mcp", ("--flag",)),
    ("corepack pnpm dlx some-server", "npm", ("some-server",), None, ()),
    ("corepack yarn@4 dlx some-server", "npm", ("some-server",), None, ()),
    ("mise exec -- npx -y @a/b --flag", "npm", ("@a/b",), None, ("--flag",)),
    ("mise x -- uvx x", "pypi", ("x",), None, ()),
    ("bash -lc 'exec npx -y @a/b /data'", "npm", ("@a/b",), None, ("/data",)),
    ("/bin/sh -c 'npx -y @a/b \"a path\"'", "npm", ("@a/b",), None, ("a path",)),
    ("zsh -l -c 'uvx x'", "pypi", ("x",), None, ()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "manager", "packages", "program", "arguments"), FETCHES, ids=[each[0] for each in FETCHES]
)
def test_what_is_fetched(
    line: str, manager: str, packages: tuple[str, ...], program: str | None, arguments: tuple[str, ...]
) -> None:
    command, *words = shlex.split(line)
    found = request_of(command, words)
    assert found is not None
    wanted = found.wanted
    assert (wanted.manager, wanted.packages, wanted.program) == (manager, packages, program)
    assert found.arguments == arguments
    assert wanted.python == ("3.12" if "3.12" in line else None)


@pytest.mark.parametrize(
    ("line", "before"),
    [
        ("env A=1 B=2 npx -y @a/b /data", ("env", "A=1", "B=2")),
        ("/usr/bin/env -u A -- npx @a/b /data", ("/usr/bin/env", "-u", "A", "--")),
        ("env -S 'A=1 npx -y @a/b' /data", ("env", "A=1")),
        ("env '--split-string=npx -y @a/b' /data", ("env",)),
        ("timeout -k 5 --signal=INT 60 npx @a/b /data", ("timeout", "-k", "5", "--signal=INT", "60")),
        ("dotenv -e .env -- npx @a/b /data", ("dotenv", "-e", ".env", "--")),
        ("bash -c 'A=1 exec npx @a/b /data'", ("env", "A=1")),
        ("timeout 60 env A=1 bash -lc 'exec npx -y @a/b /data'", ("timeout", "60", "env", "A=1")),
    ],
)
def test_launchers_that_work_in_a_sandbox_stay_before_what_was_fetched(
    line: str, before: tuple[str, ...]
) -> None:
    command, *words = shlex.split(line)
    found = request_of(command, words)
    assert found is not None
    assert found.wanted.packages == ("@a/b",)
    assert found.command("/opt/b", ["-s"]) == (before[0], (*before[1:], "/opt/b", "-s", "/data"))


@pytest.mark.parametrize(
    "line",
    [
        "op run --env-file=.env -- npx -y @a/b",
        "doppler run -- npx -y @a/b",
        "doppler run --command 'npx -y @a/b'",
        "env A=1 op run -- node server.js",
        "mise exec node@20 -- npx -y @a/b",
        "fnm exec --using=20 npx -y @a/b",
        "bash -lc 'exec op run -- npx @a/b'",
        "bash -c 'cd /srv && npx -y @a/b'",
        "sh -c 'npx -y @a/b > /tmp/log'",
        "bash -lc 'npx -y $PACKAGE'",
        "uv run --with x python server.py",
        "uv run --with x server.py",
        "uv run --with git+https://example.com/x x",
        "uv run --directory /srv --with x x",
    ],
)
def test_launchers_that_cannot_work_in_a_sandbox_are_refused_in_one_sentence(line: str) -> None:
    command, *words = shlex.split(line)
    with pytest.raises(ServerConfigError) as refused:
        request_of(command, words)
    assert refused.value.hint
    assert ". " not in refused.value.what


@pytest.mark.parametrize(
    "line",
    [
        "env A=1 node server.js",
        "timeout 60 python -m x",
        "bash -lc 'cd /srv && node server.js'",
        "bash script.sh npx",
        "dotenv -- node server.js",
        "env",
        "timeout 60",
        "corepack",
        "mise exec --",
        "bash -c ''",
    ],
)
def test_a_launcher_of_what_fetches_nothing_is_left_alone(line: str) -> None:
    command, *words = shlex.split(line)
    assert request_of(command, words) is None


@pytest.mark.parametrize(
    "line", ["node server.js", "npm start", "uv run server.py", "python -m x", "pipx list"]
)
def test_what_fetches_nothing(line: str) -> None:
    command, *words = shlex.split(line)
    assert request_of(command, words) is None


@pytest.mark.parametrize("command", [None, ""])
def test_a_server_without_a_command_fetches_nothing(command: str | None) -> None:
    assert request_of(command, ()) is None


@pytest.mark.parametrize(
    "line",
    [
        "npx",
        "npx -y",
        "npx git+https://example.com/x",
        "npx user/repository",
        "npx ./local",
        "npx https://example.com/x.tgz",
        "npx x@npm:y",
        "npx file:../x",
        "npx --registry=https://example.com x",
        "npx -c 'rm -rf ~'",
        "npx --ignore-scripts=false x",
        "uvx --index-url https://example.com x",
        "uvx --from git+https://example.com/x x",
        "uvx --from ./x x",
        "uvx x.whl",
        "uvx 'x @ https://example.com/x.whl'",
        "uvx --python /opt/python x",
        "pipx run https://example.com/x.py",
        "pipx run --pip-args=--index-url=x x",
    ],
)
def test_what_cannot_be_pinned_is_refused(line: str) -> None:
    command, *words = shlex.split(line)
    with pytest.raises(ServerConfigError) as refused:
        request_of(command, words)
    assert "Install the server yourself" in refused.value.hint
