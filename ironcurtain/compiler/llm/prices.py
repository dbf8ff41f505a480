"""What models cost: `prices.json`, a table with a date. A model that is not in it costs nobody knows what.

Prices are list prices without any discount (caching, batches), so costs computed from them are upper ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from ironcurtain.compiler.llm.access import Price
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen

_DATED = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")


class PriceTable(Frozen):
    """The table.

    Attributes:
        date: When the prices were looked up: `YYYY-MM-DD`.
        models: Price by `provider:model`.
    """

    date: str
    models: dict[str, Price]


@cache
def shipped() -> PriceTable:
    """Return the table that is part of this version."""
    data = resources.files("ironcurtain.compiler.llm").joinpath("prices.json").read_bytes()
    return PriceTable.model_validate_json(json_text.canonical(json_text.parse(data)))


def price_of(model: str, own: Mapping[str, Price]) -> Price | None:
    """Return the price of `provider:model`, or None if nobody told; the user's own prices come first.

    A dated id (`claude-opus-4-5-20251101`) has the price of the undated one.
    """
    undated = _DATED.sub("", model)
    candidates = (
        own.get(model),
        own.get(undated),
        shipped().models.get(model),
        shipped().models.get(undated),
    )
    return next((price for price in candidates if price is not None), None)
