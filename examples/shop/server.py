"""A small shop over MCP, served over stdio: customers, orders and products out of a SQLite file.

Nothing here is protected: the server does what it is told. That is what the constitution is for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import shop
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _number(description: str) -> dict[str, Any]:
    return {"type": "number", "description": description}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_ORDER = _text("Id of the order, as W1")
_USER = _text("Id of the customer, as ada")
_PRODUCT = _text("Id of the product, as lamp")
_ITEM = _text("Id of the item, as lamp-black")
_METHOD = _text("Id of the method of payment, as card-ada")
_EUROS = _number("In euros")
_WHEN = {"type": "string", "format": "date-time", "description": "When it was ordered"}

ORDER = _object(
    order_id=_ORDER,
    user_id=_USER,
    status={"type": "string", "enum": ["pending", "delivered", "cancelled"]},
    created_at=_WHEN,
    payment_method_id=_METHOD,
    total=_EUROS,
    items=_list(_object(item_id=_ITEM, product_id=_PRODUCT, price=_EUROS)),
)
METHOD = _object(id=_METHOD, kind={"type": "string", "enum": ["card", "gift card"]}, balance=_EUROS)
USER = _object(
    user_id=_USER, name=_text("Name"), email=_text("E-mail address"), payment_methods=_list(METHOD)
)
VARIANT = _object(
    item_id=_ITEM, option=_text("What is special about it"), price=_EUROS, available={"type": "boolean"}
)
PRODUCT = _object(product_id=_PRODUCT, name=_text("Name"), variants=_list(VARIANT))


@dataclass(frozen=True)
class ShopTool:
    """A tool: what it does, of what it is told, and what it answers."""

    does: Callable[..., dict[str, Any]]
    description: str
    given: dict[str, Any]
    answers: dict[str, Any]
    only_reads: bool = False


TOOLS = {
    "get_order_details": ShopTool(
        shop.order, "Return an order.", _object(order_id=_ORDER), ORDER, only_reads=True
    ),
    "get_user_details": ShopTool(
        shop.user, "Return a customer.", _object(user_id=_USER), USER, only_reads=True
    ),
    "get_product_details": ShopTool(
        shop.product, "Return a product.", _object(product_id=_PRODUCT), PRODUCT, only_reads=True
    ),
    "read_notes": ShopTool(
        shop.notes,
        "Return what colleagues noted about a customer.",
        _object(user_id=_USER),
        _object(note=_text("The note")),
        only_reads=True,
    ),
    "cancel_order": ShopTool(shop.cancel, "Cancel an order.", _object(order_id=_ORDER), ORDER),
    "return_items": ShopTool(
        shop.give_back,
        "Take items of an order back and pay for them.",
        _object(order_id=_ORDER, item_ids=_list(_ITEM), payment_method_id=_METHOD),
        ORDER,
    ),
    "exchange_items": ShopTool(
        shop.exchange,
        "Exchange items of an order for others, each for the one at the same place.",
        _object(order_id=_ORDER, item_ids=_list(_ITEM), new_item_ids=_list(_ITEM), payment_method_id=_METHOD),
        ORDER,
    ),
    "refund": ShopTool(
        shop.refund,
        "Pay an amount for an order.",
        _object(order_id=_ORDER, amount=_EUROS, payment_method_id=_METHOD),
        _object(refunded=_EUROS),
    ),
    "send_mail": ShopTool(
        shop.send_mail,
        "Send a message to a customer.",
        _object(user_id=_USER, subject=_text("Subject"), body=_text("Text")),
        _object(sent=_USER),
    ),
}


async def _list_tools(_context: object, _params: object) -> types.ListToolsResult:
    listed = [
        types.Tool(
            name=name,
            description=tool.description,
            input_schema=tool.given,
            output_schema=tool.answers,
            annotations=types.ToolAnnotations(read_only_hint=tool.only_reads),
        )
        for name, tool in TOOLS.items()
    ]
    return types.ListToolsResult(tools=listed)


async def _call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
    try:
        result = TOOLS[params.name].does(**(params.arguments or {}))
    except (KeyError, TypeError, ValueError, shop.ShopError) as error:
        text = types.TextContent(type="text", text=f"not done: {error}")
        return types.CallToolResult(content=[text], is_error=True)
    return types.CallToolResult(content=[], structured_content=result)


async def main() -> None:
    """Serve until standard input ends."""
    server = Server("shop", on_list_tools=_list_tools, on_call_tool=_call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
