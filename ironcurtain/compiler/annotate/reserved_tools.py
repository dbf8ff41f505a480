"""Adding the reserved tools of the proxy that a constitution names, so that rules can name them.

A clause names one literally, as `mcp/sampling`. Without such a clause nothing is added, so that the questions
of a constitution that says nothing about them stay what they were.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.decision.reserved_tools import READ_RESOURCE, RESERVED, is_reserved, with_reserved_roles
from ironcurtain.model.annotations import Annotations, ServerAnnotations


def with_reserved_tools(annotations: Annotations, clauses: Sequence[PlacedClause]) -> Annotations:
    """Return annotations in which every server has the reserved tools that clauses name."""
    texts = "\n".join(placed.clause.text for placed in clauses)
    named = [name for name in RESERVED if re.search(rf"(?<![\w/-]){re.escape(name)}(?![\w/-])", texts)]
    if not named:
        return annotations
    roles = with_reserved_roles(annotations.roles) if READ_RESOURCE in named else annotations.roles
    servers = {server: _with(annotated, named) for server, annotated in annotations.servers.items()}
    return annotations.model_copy(update={"servers": servers, "roles": roles})


def without_reserved_tools(annotations: Annotations) -> Annotations:
    """Return annotations of what servers list: those that a compile published, to compare others with."""
    servers = {
        server: annotated.model_copy(
            update={"tools": tuple(tool for tool in annotated.tools if not is_reserved(tool))}
        )
        for server, annotated in annotations.servers.items()
    }
    return annotations.model_copy(update={"servers": servers})


def _with(annotated: ServerAnnotations, named: Sequence[str]) -> ServerAnnotations:
    own = {tool.tool for tool in annotated.tools}
    added = tuple(RESERVED[name] for name in named if name not in own)
    return annotated.model_copy(update={"tools": (*annotated.tools, *added)})
