"""A call is written so that its tool makes something else of it than what was judged, or fails in the checks.

Held by: what a condition asks is asked of the canonical arguments, too; an argument that validation changes
is refused, marked or not; whatever a check raises is a refusal with a record; a definition whose markers
changed is not the tool that the policy was made for.
"""

from __future__ import annotations

import json
import threading
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePath
from typing import Annotated, Any
from uuid import UUID

import anyio
import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator
from support.deployments.support_desk import Desk, text_of

from ironcurtain.gateway import Gateway, Is, ReadPath, define_tool
from ironcurtain.gateway.admission import Admission
from ironcurtain.gateway.calling import ToolFailedError, call_tool
from ironcurtain.gateway.principal import Principal
from ironcurtain.gateway.workers import Workers

SECRET = "ada@example.com"
TOOLS = f"""
import sys
from typing import Annotated
from pydantic import AfterValidator, BaseModel
from ironcurtain.gateway import Gateway, ReadPath, define_tool

def checked(value: str) -> str:
    if value == "fail":
        raise RuntimeError("no row for {SECRET}")
    if value == "exit":
        sys.exit("{SECRET}")
    return value

class File(BaseModel):
    path: ReadPath

class Word(BaseModel):
    word: Annotated[str, AfterValidator(checked)]

class Text(BaseModel):
    text: str

def declared(name, model, handler, **more):
    return define_tool(
        name=name, description="Say it.", classification="read", permissions=["public"], input=model,
        output=Text, output_policy={{".text": "allow"}}, handler=handler, **more
    )

gateway = Gateway("desk", [
    declared("read", File, lambda file: {{"text": file.path}},
             elevated_if=lambda file: file.path.startswith("/srv/secret/"), elevated_permissions=["secrets"]),
    declared("say", Word, lambda word: {{"text": word.word}}),
    declared("leave", Word, lambda word: {{"text": word.word}},
             elevated_if=lambda word: sys.exit("{SECRET}"), elevated_permissions=["secrets"]),
])
"""


def test_what_needs_more_is_spelled_otherwise_and_what_checks_it_fails(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.tools(TOOLS)
    desk.permit()
    tried = [
        ("read", {"path": "/srv/public/a"}),
        ("read", {"path": "/srv/secret/a"}),
        ("read", {"path": "/srv/public/../secret/a"}),
        ("read", {"path": "/srv//secret/a"}),
        ("say", {"word": "fail"}),
        ("say", {"word": "exit"}),
        ("leave", {"word": "hello"}),
        ("say", {"word": "hello"}),
    ]

    async def story() -> list[str]:
        async with desk.client() as client:
            found = [await client.call_tool(f"desk__{name}", given) for name, given in tried]
            return [text_of(each).split("\n")[0] for each in found]

    no, unchecked = "operation not permitted", "The arguments could not be checked."
    told = anyio.run(story)
    assert told == ['{"text": "/srv/public/a"}', no, no, no, unchecked, unchecked, no, '{"text": "hello"}']
    stages = [record["gateway"]["stage"] for record in desk.decisions()]
    assert stages == [None, *["PERMISSION"] * 3, *["VALIDATION"] * 2, "PERMISSION", None]
    assert [record["status"] for record in desk.results()] == ["ok", "ok"]
    assert SECRET not in json.dumps(desk.records())


def test_what_needs_more_when_it_is_spelled_plainly_counts_for_no_limit(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    policy = json.loads((desk.root / "compiled-policy.json").read_text())
    session = {"per": "session", "window": "session"}
    policy["facts"] = {"reads": {"source": "counter", "clause": "C1", "of": {"tool": ["read"]}, **session}}
    (desk.root / "compiled-policy.json").write_text(json.dumps(policy))
    second = {"server": ["desk"], "tool": ["read"], "facts": [{"fact": "reads", "op": "gt", "value": 1}]}
    limit = {"description": "One.", "clause": "C1", "reason": "One file is enough.", "then": "deny"}
    desk.tools(TOOLS, {"name": "one-file", **limit, "if": second})
    desk.permit()

    async def story() -> list[bool]:
        async with desk.client() as client:
            paths = ["/srv/public/../secret/a", "/srv/public/a", "/srv/public/b"]
            return [bool((await client.call_tool("desk__read", {"path": path})).is_error) for path in paths]

    assert anyio.run(story) == [True, False, True]
    assert [record["gateway"]["stage"] for record in desk.decisions()] == ["PERMISSION", None, "POLICY"]
    assert "intact" in desk.run("audit", "verify", "desk")


DECLARED = """
from pydantic import BaseModel
from ironcurtain.gateway import Gateway, ReadPath, define_tool

class Thing(BaseModel):
    thing: {kind}

gateway = Gateway("desk", [define_tool(
    name="show", description="Show it.", classification="read", permissions=["public"], input=Thing,
    output=Thing, output_policy={{".": "allow"}}, handler=lambda thing: thing, pii_fields={personal},
)])
"""


@pytest.mark.parametrize(
    "changed", [{"kind": "ReadPath"}, {"personal": ["thing"]}], ids=["marker", "personal"]
)
def test_a_definition_whose_schema_stays_changes_after_the_policy_was_made(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    desk = Desk(tmp_path)
    before = {"kind": "str", "personal": []}
    desk.tools(DECLARED.format(**before))
    desk.permit()

    async def told() -> str:
        async with desk.client("--audit", "debug") as client:
            return text_of(await client.call_tool("desk__show", {"thing": SECRET}))

    assert SECRET in anyio.run(told)
    (desk.root / "tools.py").write_text(DECLARED.format(**{**before, **changed}))
    assert "not the one that was examined" in anyio.run(told)
    assert SECRET not in json.dumps(desk.decisions()[-1])


class Kind(Enum):
    LOG = "log"


class Stripped(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True)
    path: ReadPath


class Decoded(BaseModel):
    path: Annotated[ReadPath, AfterValidator(lambda path: path.replace("%2F", "/"))]


class Inside(BaseModel):
    files: list[Stripped]


class Several(BaseModel):
    model_config = ConfigDict(str_to_lower=True)
    paths: set[ReadPath]


class Cased(BaseModel):
    model_config = ConfigDict(str_to_lower=True)
    ticket: Annotated[str, Is("ticket")]


class Plain(BaseModel):
    path: Annotated[PurePath, Is("read-path")]
    kind: Annotated[Kind, Is("kind")] = Kind.LOG
    other: Annotated[str | None, Is("read-path")] = None
    all: list[ReadPath] = Field(default_factory=lambda: ["/srv/a"], alias="every")
    note: Annotated[str, AfterValidator(str.strip)] = ""
    due: datetime | None = None
    rate: float = 1
    sum: Decimal = Decimal(0)
    tags: dict[str, set[str]] = Field(default_factory=dict)


class Status(BaseModel):
    status: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]


class State(Enum):
    CLOSED = "closed"

    @classmethod
    def _missing_(cls, value: object) -> State | None:
        return cls.CLOSED if str(value).strip().lower() == "closed" else None


class Chosen(BaseModel):
    state: State


class Renamed(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    status: str = Field("open", alias="state")


class Moved(BaseModel):
    model_config = ConfigDict(extra="allow")
    status: str = "open"

    @model_validator(mode="before")
    @classmethod
    def moved(cls, told: dict[str, Any]) -> dict[str, Any]:
        return {**told, "status": told["also"]} if "also" in told else told


class Assigned(BaseModel):
    status: str = "open"

    @model_validator(mode="after")
    def assigned(self) -> Assigned:
        self.status = self.status.strip()
        return self


class Nested(BaseModel):
    every: dict[str, list[Status]]


class Keyed(BaseModel):
    model_config = ConfigDict(str_to_lower=True)
    every: dict[str, int]


class Typed(BaseModel):
    id: UUID | None = None
    day: date | None = None
    place: PurePath | None = None
    sum: Decimal | None = None
    on: bool | None = None


def tried(model: type[BaseModel], arguments: dict[str, Any]) -> str:
    """Call a tool; return what it was given, or what is told."""
    tool = define_tool(
        name="tool",
        description="A tool.",
        classification="read",
        permissions=["public"],
        input=model,
        output=model,
        output_policy={".": "allow"},
        handler=lambda given: given,
    )
    Gateway("test", [tool]).check()
    try:
        return json.dumps(anyio.run(call_tool, tool, arguments, "trace", Workers()))
    except ToolFailedError as error:
        return f"{error.stage}: {error.told}"


@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        (Stripped, {"path": "/srv/secret "}),
        (Decoded, {"path": "/srv%2Fsecret"}),
        (Inside, {"files": [{"path": "/srv/a"}, {"path": "/srv/secret\n"}]}),
        (Several, {"paths": ["/srv/A", "/srv/b"]}),
        (Cased, {"ticket": "SUP-1"}),
        (Status, {"status": " CLOSED "}),
        (Status, {"status": "Closed"}),
        (Chosen, {"state": "CLOSED"}),
        (Renamed, {"status": "closed"}),
        (Moved, {"also": "closed"}),
        (Assigned, {"status": "closed "}),
        (Nested, {"every": {"a": [{"status": "closed"}, {"status": "CLOSED"}]}}),
        (Keyed, {"every": {"A": 1}}),
        (Typed, {"id": "6F9619FF-8B86-D011-B42D-00C04FC964FF"}),
        (Typed, {"day": "2026-12-24T00:00:00"}),
        (Typed, {"place": "a//b"}),
        (Typed, {"sum": " 60"}),
        (Typed, {"on": "yes"}),
    ],
)
def test_validation_makes_another_value_of_what_was_judged(
    model: type[BaseModel], arguments: dict[str, Any]
) -> None:
    assert tried(model, arguments).startswith("VALIDATION: The arguments are not valid. ")


def test_what_validation_keeps_is_given_to_the_tool() -> None:
    told: dict[str, Any] = {
        "path": "/srv/a",
        "kind": "log",
        "other": None,
        "every": ["/srv/b"],
        "note": "x",
        "rate": 5,
    }
    told |= {"due": "2026-11-28T10:00:00Z", "sum": "60.00", "tags": {"a": ["y"]}}
    assert json.loads(tried(Plain, told)) == told
    assert tried(Status, {"status": "closed"}) == '{"status": "closed"}'
    assert tried(Renamed, {"state": "closed"}) == '{"state": "closed"}'
    assert json.loads(tried(Plain, {"path": "/srv/a"}))["every"] == ["/srv/a"]
    assert tried(Stripped, {"path": "/srv/a"}) == '{"path": "/srv/a"}'
    assert tried(Inside, {"files": [{"path": "/srv/a"}]}) == '{"files": [{"path": "/srv/a"}]}'


CLOSING = """
from typing import Annotated
from pydantic import BaseModel, StringConstraints
from ironcurtain.gateway import Gateway, define_tool

class Status(BaseModel):
    status: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]

gateway = Gateway("desk", [define_tool(
    name="set", description="Set it.", classification="write", permissions=["public"], input=Status,
    output=Status, output_policy={".": "allow"}, handler=lambda given: given,
)])
"""


def test_a_denied_value_is_spelled_so_that_the_tool_makes_it_of_another(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    closed = {"name": "/status", "op": "equals", "value": "closed"}
    deny = {"name": "no-closing", "description": "Not closed.", "clause": "C1", "reason": "Never."}
    desk.tools(CLOSING, {**deny, "then": "deny", "if": {"server": ["desk"], "args": [closed]}})
    desk.permit()

    async def story() -> list[str]:
        async with desk.client() as client:
            found = [
                await client.call_tool("desk__set", {"status": each})
                for each in ("open", "closed", " CLOSED ")
            ]
            return [text_of(each) for each in found]

    permitted, denied, changed = anyio.run(story)
    assert permitted == '{"status": "open"}'
    assert "not permitted" in denied
    assert changed.startswith("The arguments are not valid. ")
    printed = desk.run("serve", "--check", "tools.py")
    assert "status: its model strips blanks; a call in which that changes the value is refused" in printed
    assert "status: its model writes it in lower case" in printed


def test_conditions_that_hang_are_not_piled_up() -> None:
    ends = threading.Event()
    tool = define_tool(
        name="tool",
        description="A tool.",
        classification="read",
        permissions=["public"],
        input=Stripped,
        output=Stripped,
        output_policy={".": "allow"},
        handler=lambda given: given,
        elevated_if=lambda _: ends.wait(),
        elevated_permissions=["more"],
    )
    admission = Admission({"desk": Gateway("desk", [tool])}, condition_seconds=0.2)
    caller = Principal("ada", frozenset())
    stages: list[str] = []

    async def call() -> None:
        refused = await admission.check("desk", "tool", {"path": "/srv/a"}, caller)
        assert refused is not None
        stages.append(refused.stage)

    async def story() -> int:
        before = threading.active_count()
        for _ in range(3):
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(call)
        return threading.active_count() - before

    try:
        assert anyio.run(story) < 2 * 20 + 20
    finally:
        ends.set()
    assert stages == ["PERMISSION"] * 60
