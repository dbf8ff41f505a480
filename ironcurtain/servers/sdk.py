"""Loading the MCP SDK without building what checks each of its hundreds of messages: most are never used."""

from __future__ import annotations

import sys
from importlib import import_module

from pydantic import BaseModel

_SDK = "mcp"


def load_sdk() -> None:
    """Load the SDK if it is not loaded yet; what checks a message is built when the first one comes.

    Pydantic builds it once, under a lock, as for our own models (`system/frozen.py`). It stays the SDK's own
    matter which models there are: only those that are made meanwhile are made so.
    """
    if _SDK in sys.modules:
        return
    BaseModel.model_config["defer_build"] = True
    try:
        import_module(_SDK)
    finally:
        del BaseModel.model_config["defer_build"]
