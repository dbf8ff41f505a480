"""Annotations that tools declare themselves: those of gateways, whose modules are their teams' own word."""

from __future__ import annotations

from ironcurtain.gateway.definition import Tool
from ironcurtain.gateway.gateway import listing, load_gateway
from ironcurtain.gateway.roles import marked_none
from ironcurtain.model.annotations import Annotations, Confirmation, ServerAnnotations, ToolAnnotation
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.permitted import check_permitted
from ironcurtain.servers.tools import ToolListing, tool_digest
from ironcurtain.system import json_text


def declared_annotations(config: ServerConfig) -> Annotations:
    """Return the annotations of all gateways of a configuration, and the roles that they declare.

    Raises:
        UnpermittedError: If nobody permitted that a module is imported.
        GatewayError, SeveralErrors: If anything in their modules is wrong.
    """
    modules = {name: server.gateway for name, server in config.servers.items() if server.gateway}
    check_permitted(config, modules)
    gateways = {name: load_gateway(config.directory / module) for name, module in modules.items()}
    roles = {role.name: role for gateway in gateways.values() for role in gateway.roles}
    servers = {
        name: ServerAnnotations(tools=tuple(annotation_of(tool) for tool in gateway.tools.values()))
        for name, gateway in gateways.items()
    }
    return Annotations(format="ironcurtain/annotations/v1", roles=tuple(roles.values()), servers=servers)


def declared_listing(tool: Tool) -> ToolListing:
    """Return a tool as it is listed; its digest covers what the definition says of the arguments, too.

    Neither a marker nor `pii_fields` is in the schema: a change of these alone must not pass for the tool
    that the policy was made for.
    """
    listed = ToolListing.of(listing(tool))
    digest = declared_digest(tool, listed.listing_digest or "")
    return listed.model_copy(update={"listing_digest": digest})


def declared_digest(tool: Tool, told: str) -> str:
    """Return the digest of a definition: of what clients are told, by its digest, and of the arguments."""
    return json_text.digest([told, [argument.model_dump(mode="json") for argument in tool.arguments]])


def annotation_of(tool: Tool) -> ToolAnnotation:
    """Return what a tool's definition says of its arguments."""
    listed = declared_listing(tool)
    is_resource = any(set(argument.possible_roles) != {"none"} for argument in tool.arguments)
    confirmed = (
        Confirmation(arg=name, by="its definition", reason="The tool's own definition says so.")
        for name in marked_none(tool.input)
    )
    return ToolAnnotation(
        tool=tool.name,
        side_effects=is_resource or tool.classification != "read",
        comment="As the tool's definition says.",
        schema_digest=tool_digest(listed),
        listing_digest=listed.listing_digest,
        input_schema=listed.input_schema,
        args=tool.arguments,
        confirmed=tuple(confirmed),
    )
