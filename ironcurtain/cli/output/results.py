"""Printing what a command found out: JSON of its schema, or lines for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ironcurtain.system.frozen import Frozen
    from ironcurtain.system.json_text import JsonSource


def print_json(value: Frozen | JsonSource) -> None:
    """Print a report, or a JSON value, as JSON: keys sorted, indented."""
    from pydantic import BaseModel

    from ironcurtain.system import json_text

    document = value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value
    click.echo(json_text.pretty(document), nl=False)


def print_result(report: Frozen, lines: Iterable[str], format_: str) -> None:
    """Print a report as JSON where `format_` is `json`, and otherwise the lines that say the same."""
    if format_ == "json":
        print_json(report)
    else:
        click.echo("\n".join(lines))
