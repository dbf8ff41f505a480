"""Options that `decide` and `input` share: which bundle, and where it is enforced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from ironcurtain.model.base import Json
from ironcurtain.policy import Policy

_OPTIONS = (
    click.option("--bundle", required=True, metavar="B", help="Bundle directory or .tar.gz."),
    click.option("--sandbox", metavar="DIR", help="The session's working directory."),
    click.option("--home", metavar="DIR", help="The home directory that ~ means (default: yours)."),
    click.option("--protected", metavar="PATH", multiple=True, help="A path no tool may touch; repeatable."),
    click.option("--servers", metavar="FILE", help="mcp-servers.json: working roots and domain lists."),
    click.option("--expect-revision", metavar="R", help="Refuse a bundle of any other revision."),
    click.option("--opa", metavar="PATH", help="The OPA executable (default: see `ironcurtain opa which`)."),
)


def policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command, which gets the loaded `policy` in their place."""

    @functools.wraps(command)
    def with_policy(**options: Json) -> Any:  # noqa: ANN401 - whatever the command returns
        names = ("sandbox", "home", "protected", "servers", "expect_revision", "opa")
        loading = {name: options.pop(name) for name in names}
        return command(policy=Policy.load(options.pop("bundle"), **loading), **options)

    for option in reversed(_OPTIONS):
        with_policy = option(with_policy)
    return with_policy
