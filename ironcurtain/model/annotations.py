"""Tool annotations: what each argument of each tool *is* to security (`tool-annotations.json`)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from ironcurtain.model.varying import Varying
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Digest, Frozen, JsonValue, ServerName

Codec = Literal["comma", "json", "json-or-comma", "addresses"]

SAID_ABOUT_TOOLS = {"comment", "confirmed", "schema_digest", "listing_digest", "source"}
"""What people say about a tool, or where it came from: no part of what its annotation means."""


class IdentifierRole(Frozen):
    """A role that a project adds: identifiers of one kind (a channel, a project, a table, a key).

    Attributes:
        case: Whether two spellings that differ in case are one identifier (`fold`) or two (`exact`).
        separator: With one, identifiers are hierarchical and patterns may be `prefix<separator>**`.
        decode: `percent` when the tool itself decodes percent-escapes.
        numbers: Whether an integer is an identifier too (judged in its decimal form).
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")
    description: str
    guidance: str = ""
    case: Literal["exact", "fold"]
    separator: str | None = Field(default=None, min_length=1, max_length=1)
    decode: Literal["none", "percent"] = "none"
    numbers: bool = False


class When(Frozen):
    """One branch of a conditional role: `arg` names another argument and exactly one test of it."""

    arg: str
    equals: JsonValue = None
    in_: tuple[JsonValue, ...] | None = Field(default=None, alias="in", min_length=1)
    present: bool | None = None
    roles: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_test(self) -> When:
        if len(self.model_fields_set & {"equals", "in_", "present"}) != 1:
            msg = "give exactly one of equals, in, present"
            raise ValueError(msg)
        return self


class Conditional(Frozen):
    """Roles that depend on another argument; branches only ever narrow `default`, first match wins."""

    default: tuple[str, ...] = Field(min_length=1)
    when: tuple[When, ...] = Field(min_length=1)


class Argument(Frozen):
    """One annotated argument: a top-level name, or a JSON pointer in which `*` is every element.

    The flags are those of specification 1.2; all default to the harmless value. `pii` marks what concerns a
    person: audit logs never hold its values.
    """

    name: str = Field(min_length=1)
    roles: tuple[str, ...] | None = Field(default=None, min_length=1)
    conditional: Conditional | None = None
    required: bool = False
    codec: Codec | None = None
    relative_to: str | None = None
    recursive: bool = False
    repository: bool = False
    assume_scheme: str | None = None
    pii: bool = False

    @model_validator(mode="after")
    def _roles_or_conditional(self) -> Argument:
        if (self.roles is None) == (self.conditional is None):
            msg = "give either roles or conditional"
            raise ValueError(msg)
        return self

    @property
    def possible_roles(self) -> tuple[str, ...]:
        """Every role the argument can carry; a conditional one carries at most its default."""
        return self.conditional.default if self.conditional else self.roles or ()

    @property
    def top_level(self) -> str:
        """The name of the top-level argument that this annotation speaks of."""
        if not self.name.startswith("/"):
            return self.name
        return self.name.split("/", 2)[1].replace("~1", "/").replace("~0", "~")


class Composite(Frozen):
    """One resource made of several arguments, as `owner` and `repo` make a repository."""

    role: str
    join: tuple[str, ...] = Field(min_length=2)
    with_: str = Field(alias="with")


class Confirmation(Frozen):
    """A person's word that an argument which looks like a resource is none (specification 3.6)."""

    arg: str
    by: str
    reason: str = Field(min_length=1)


class Shipped(Frozen):
    """That an annotation is of the collection that ships with IronCurtain, and what it was made for.

    Attributes:
        package: The package that the tool was read from, as `npm:NAME@VERSION` or `pypi:NAME@VERSION`.
    """

    kind: Literal["shipped"]
    package: str


class ToolAnnotation(Frozen):
    """What one tool does and what its arguments are.

    `input_schema` and `schema_digest` are written from the live server. Without a schema the tool's
    arguments are known by `args` alone and accepted as any JSON value. `listing_digest` is the digest of all
    that a client is told of the tool, its title, hints and output schema, too; where it is missing, the proxy
    takes what it sees first. `reads` is true where a person confirmed that the tool only reads, so that facts
    may be looked up with it. `source` is there where the annotation ships with IronCurtain.
    """

    tool: str = Field(min_length=1)
    side_effects: bool
    contained: bool = False
    reads: bool = False
    comment: str = ""
    schema_digest: Digest | None = None
    listing_digest: Digest | None = None
    input_schema: dict[str, JsonValue] | None = None
    args: tuple[Argument, ...] = ()
    composites: tuple[Composite, ...] = ()
    confirmed: tuple[Confirmation, ...] = ()
    source: Shipped | None = None

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The top-level argument names that the annotation knows, in order, each once."""
        return tuple(dict.fromkeys(argument.top_level for argument in self.args))

    @property
    def properties(self) -> dict[str, JsonValue]:
        """The schemas of the top-level arguments by name, as far as the tool's schema lists them."""
        return json_text.members((self.input_schema or {}).get("properties"))


class ServerAnnotations(Frozen):
    """All annotated tools of one server, and what else it told clients when they were annotated.

    Attributes:
        varying: Texts of which a person confirmed that they depend on where the server runs.
        instructions: Digest of the server's instructions; None where they were not read, and are not pinned.
        prompts: Digest of all that clients are told of each prompt, by its name; None likewise.
    """

    tools: tuple[ToolAnnotation, ...]
    varying: tuple[Varying, ...] = ()
    instructions: Digest | None = None
    prompts: dict[str, Digest] | None = None


class Annotations(Frozen):
    """The file `tool-annotations.json`."""

    format: Literal["ironcurtain/annotations/v1"]
    roles: tuple[IdentifierRole, ...] = ()
    servers: dict[ServerName, ServerAnnotations]

    def find(self, server: str, tool: str) -> ToolAnnotation | None:
        """Return the annotation of a tool, or None if there is none."""
        found = self.servers.get(server)
        return next((t for t in found.tools if t.tool == tool), None) if found else None

    def tools(self) -> dict[tuple[str, str], ToolAnnotation]:
        """Return every annotated tool by server and name, the servers in the order of their names."""
        servers = sorted(self.servers.items())
        return {(server, tool.tool): tool for server, annotated in servers for tool in annotated.tools}
