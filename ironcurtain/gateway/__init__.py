"""Tools that a team writes itself, declared, validated, filtered and audited.

    from ironcurtain.gateway import Gateway, cli_command, define_tool

In: a module of declared tools (`ironcurtain serve tools.py`). Out: a `Gateway`, which the proxy serves like
any MCP server, and whose tools pass the same `decide()`. Open `definition.py` first; a call's way is in
`admission.py` and `calling.py`, and `output/` has output policies, which the proxy applies to
every server's answers (`ironcurtain/enforcement/calls/outputs.py`).
"""

from ironcurtain.gateway.command import Command, cli_command
from ironcurtain.gateway.definition import HandlerContext, Tool, define_tool
from ironcurtain.gateway.gateway import Gateway
from ironcurtain.gateway.output.policy import OutputPolicy
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
