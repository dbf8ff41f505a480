"""Tools that a team writes itself, declared, validated, filtered and audited.

    from ironcurtain.gateway import Gateway, cli_command, define_tool

A module of tools is served with `ironcurtain serve tools.py`, and checked with `--check` beside it.
Begin reading with `definition.py`; a call's way is in `admission.py` and `calling.py`.
"""

from ironcurtain.gateway.command import Command, cli_command
from ironcurtain.gateway.definition import HandlerContext, Tool, define_tool
from ironcurtain.gateway.gateway import Gateway
from ironcurtain.gateway.output import OutputPolicy
from ironcurtain.gateway.roles import DeletePath, FetchUrl, Is, ReadPath, Recipient, WritePath

__all__ = [
    "Command",
    "DeletePath",
    "FetchUrl",
    "Gateway",
    "HandlerContext",
    "Is",
    "OutputPolicy",
    "ReadPath",
    "Recipient",
    "Tool",
    "WritePath",
    "cli_command",
    "define_tool",
]
