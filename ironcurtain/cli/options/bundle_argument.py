"""The bundle of a command, in one form everywhere: `--bundle B`, or `B` in front of its other positions.

Commands that write and review policies take the project's own bundle where none is named. Commands that
enforce one take none from where they are run: whoever can write there could swap the policy.

`caller_facts` reads the option `--caller` of the commands that decide calls.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar, cast

import click

from ironcurtain.errors import UsageError
from ironcurtain.system.text import quoted, visible

if TYPE_CHECKING:
    from ironcurtain.system.frozen import JsonValue

F = TypeVar("F", bound=Callable[..., object])
Needed = Literal["all", "none", "any"]

CALL = ("server", "tool", "arguments")
_DEFAULT = "Bundle directory or .tar.gz, also as the first argument (default: the project's)."
EXPLICIT_BUNDLE = click.option(
    "--bundle", metavar="B", help="Bundle directory or .tar.gz, also as the first argument; always needed."
)
_BUNDLE = click.option("--bundle", metavar="B", help=_DEFAULT)


def bundle_argument(
    *own: str, shown: str = "", needed: Needed = "all", explicit: bool = False
) -> Callable[[F], F]:
    """Let the bundle of a command be given, as the parameter `bundle`.

    Args:
        own: The parameters that are the command's other positions, in their order.
        shown: The other positions, as the help shows them.
        needed: Which of them have to be given: all; all or none, as the command itself decides; or any of
            them, from the first on, the first being a server's name.
        explicit: Whether a bundle has to be named; otherwise `bundle` may be None.
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def inner(*, bundle: str | None, positions: tuple[str, ...], **options: object) -> object:
            first, others = _divided(positions, len(own), needed)
            only = one_bundle(bundle, first)
            if explicit and only is None:
                raise no_bundle(shown)
            if needed == "all" and len(others) < len(own):
                raise UsageError(f"give {shown}", hint="See the command's --help.")
            values = dict(zip(own, (*others, *[None] * len(own)), strict=False))
            return command(bundle=only, **values, **options)

        metavar = f"[BUNDLE] {shown}".strip()
        with_positions = click.argument("positions", nargs=-1, metavar=metavar)(inner)
        return cast("F", (EXPLICIT_BUNDLE if explicit else _BUNDLE)(with_positions))

    return decorate


def one_bundle(option: str | None, position: str | None) -> str | None:
    """Return the bundle that is given in one form, or in both.

    Raises:
        UsageError: If two different ones are given.
    """
    if option is not None and position is not None and _absolute(option) != _absolute(position):
        raise UsageError(
            f"two bundles are given: --bundle {quoted(option)} and {quoted(position)}",
            hint="Give one of them.",
        )
    return option if option is not None else position


def no_bundle(others: str = "") -> UsageError:
    """Return the error of a command that takes no bundle from where it is run, but these other arguments."""
    place = f", before {others}" if others else ""
    return UsageError(
        "no bundle is given",
        hint=f"Name what is enforced: --bundle generated/bundle, or the first argument{place}.",
    )


def _divided(given: Sequence[str], own: int, needed: Needed) -> tuple[str | None, Sequence[str]]:
    """Return the bundle among the positions, if it is there, and the others."""
    if len(given) > own + 1:
        raise UsageError(f"unexpected argument {quoted(given[own + 1])}", hint="See the command's --help.")
    if needed == "any":
        # A server's name holds neither of these.
        is_there = len(given) > own or (bool(given) and any(sign in given[0] for sign in "/\\."))
    else:
        is_there = len(given) > own or (needed == "none" and len(given) == 1)
    return (given[0], given[1:]) if is_there else (None, given)


def _absolute(path: str) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - without ..; links stay


def caller_facts(text: str | None) -> dict[str, JsonValue] | None:
    """Read what `--caller` says.

    Raises:
        UsageError: If it is no JSON object.
    """
    from ironcurtain.system import json_text

    if text is None:
        return None
    try:
        facts = json_text.parse(text)
    except json_text.MalformedJsonError as error:
        raise UsageError(f"--caller is not strict JSON: {visible(str(error))}") from None
    if not isinstance(facts, dict):
        raise UsageError("--caller is no JSON object")
    return facts
