"""The support desk's tools, called by a real client: what is permitted, what leaves, what is recorded."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client
from mcp.client.stdio import stdio_client
from support.deployments.support_desk import Desk, text_of

from ironcurtain.enforcement.audit.log_paths import key_id, read_key
from ironcurtain.servers.tools import ToolListing, tool_digest

PEOPLE = Path(__file__).parents[2] / "fixtures" / "people_server.py"
NOT_PERMITTED = "operation not permitted"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_session_of_the_support_desk(desk: Desk) -> None:
    async def story() -> None:
        async with desk.client() as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            # It may delete nobody, so it does not see the tool.
            assert set(listed) == {
                f"desk__{name}"
                for name in ("get_ticket", "search_tickets", "get_customer", "add_note", "desk_log")
            }
            ticket = await client.call_tool("desk__get_ticket", {"ticket": "SUP-1"})
            assert ticket.structured_content == json.loads(text_of(ticket))
            assert ticket.structured_content["customer"] == {"name": "A***e", "email": "a***m"}
            promised = listed["desk__get_ticket"].output_schema
            assert promised is not None
            jsonschema.validate(ticket.structured_content, promised)
            found = await client.call_tool("desk__search_tickets", {"words": "wheel"})
            assert [each["id"] for each in found.structured_content["tickets"]] == ["SUP-2"]
            assert (
                await client.call_tool("desk__add_note", {"ticket": "SUP-1", "text": "Hello"})
            ).structured_content
            log = await client.call_tool("desk__desk_log", {"lines": 1})
            assert log.structured_content == {"text": "09:40 SUP-2 was closed\n"}

    anyio.run(story)
    assert desk.rows("SELECT text FROM notes WHERE author = 'agent'") == [("Hello",)]
    results = desk.results()
    assert results[0]["output"] == {
        "masked": {"..email": 1, "..name": 1},
        "redacted": {"..card": 1},
        "stripped": 2,
        "stage": None,
    }
    assert [record["status"] for record in results] == ["ok"] * 4
    assert "intact" in desk.run("audit", "verify", "desk")


REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("get_ticket", {"ticket": "HR-1"}, "POLICY", "not permitted"),
    ("get_ticket", {"ticket": "nonsense"}, "VALIDATION", "ticket: String should match pattern"),
    ("get_ticket", {}, "VALIDATION", "ticket: required, not given"),
    (
        "search_tickets",
        {"words": "engine", "limit": "many"},
        "VALIDATION",
        "limit: Input should be a valid integer",
    ),
    ("add_note", {"ticket": "SUP-1", "text": "x" * 501}, "PERMISSION", NOT_PERMITTED),
    ("delete_customer", {"id": 1}, "PERMISSION", NOT_PERMITTED),
    ("drop_everything", {}, "REGISTRY", NOT_PERMITTED),
]


def test_a_refused_call_is_told_in_general_and_recorded_with_its_stage(desk: Desk) -> None:
    async def story() -> list[str]:
        async with desk.client() as client:
            results = [await client.call_tool(f"desk__{tool}", given) for tool, given, _, _ in REFUSED]
            assert all(result.is_error for result in results)
            return [text_of(result) for result in results]

    told = anyio.run(story)
    for text, (_, _, _, words) in zip(told, REFUSED, strict=True):
        assert words in text
    gateway = [record["gateway"] for record in desk.decisions()]
    assert [each["stage"] for each in gateway] == [stage for _, _, stage, _ in REFUSED]
    assert {each["caller"] for each in gateway} == {"desk-agent"}
    assert not (desk.root / "desk.sqlite").exists()  # no handler ran


FAILURES = [
    ("raise LookupError('ada@example.com')", "EXECUTION", "the handler raised LookupError"),
    ("return {'name': 'ada@example.com'}", "OUTPUT", "the answer is not as declared in 3 places"),
]


@pytest.mark.parametrize(("body", "stage", "why"), FAILURES)
def test_the_log_says_why_a_tool_failed(desk: Desk, body: str, stage: str, why: str) -> None:
    text = (desk.root / "tools.py").read_text()
    text = text.replace('return desk.rows("SELECT * FROM customers WHERE id = ?", query.id)[0]', body)
    (desk.root / "tools.py").write_text(text)

    async def story() -> str:
        async with desk.client() as client:
            return text_of(await client.call_tool("desk__get_customer", {"id": 1}))

    assert anyio.run(story) == "internal error"
    (record,) = desk.results()
    assert (record["output"]["stage"], record["error"]) == (stage, why)
    assert why in desk.run("audit", "report", "desk")
    assert "ada@example.com" not in json.dumps(desk.records())


def test_unknown_and_forbidden_tools_look_alike(desk: Desk) -> None:
    async def story() -> list[str]:
        async with desk.client() as client:
            names = ("desk__delete_customer", "desk__nothing", "nothing")
            return [text_of(await client.call_tool(name, {})) for name in names]

    texts = [text.split("Decision:")[0] for text in anyio.run(story)]
    assert len(set(texts)) == 1


def test_a_destructive_tool_needs_its_permission_and_that_destruction_is_allowed(desk: Desk) -> None:
    async def story() -> str:
        async with desk.client() as client:
            return text_of(await client.call_tool("desk__delete_customer", {"id": 2}))

    desk.permit("customers:delete")
    assert NOT_PERMITTED in anyio.run(story)
    desk.permit("customers:delete", allow_destructive=True)
    assert "A person must approve" in anyio.run(story)
    stages = [record["gateway"]["stage"] for record in desk.decisions()]
    assert stages == ["PERMISSION", "POLICY"]


def test_arguments_are_hashed_in_the_log(desk: Desk) -> None:
    async def story(*options: str) -> None:
        async with desk.client(*options) as client:
            await client.call_tool("desk__add_note", {"ticket": "SUP-1", "text": "A very secret note"})
            await client.call_tool("desk__search_tickets", {"words": "Ada Lovelace"})

    anyio.run(story)
    log = json.dumps(desk.records())
    assert "SUP-1" not in log
    assert "secret" not in log
    assert "Lovelace" not in log
    assert all(record["raw_digest"].startswith("hmac-sha256:") for record in desk.decisions())
    [start] = [record["detail"] for record in desk.records() if record.get("event") == "start"]
    assert start["digests_by"] == key_id(read_key(desk.home / ".ironcurtain" / "audit.key"))


def test_debug_audit_shows_arguments_but_for_personal_ones(desk: Desk) -> None:
    async def story() -> None:
        async with desk.client("--audit", "debug") as client:
            await client.call_tool("desk__add_note", {"ticket": "SUP-1", "text": "A very secret note"})

    anyio.run(story)
    arguments = desk.decisions()[0]["arguments"]
    assert arguments["ticket"] == "SUP-1"
    assert arguments["text"].startswith("[redacted:")


@pytest.mark.parametrize("environment", ["Production", "prd", "live", "production-eu", "staging"])
def test_debug_audit_is_refused_outside_of_development(desk: Desk, environment: str) -> None:
    told = desk.run(
        "serve",
        "tools.py",
        "--bundle",
        "bundle",
        "--permissions",
        "agent.json",
        "--audit",
        "debug",
        code=2,
        APP_ENV=environment,
    )
    assert "--audit debug is refused: APP_ENV" in told


def test_permissions_that_do_not_exist_are_refused(desk: Desk) -> None:
    desk.permit("tickets:raed")
    told = desk.run("serve", "tools.py", "--bundle", "bundle", "--permissions", "agent.json", code=2)
    assert 'the permission "tickets:raed" does not exist' in told


def test_every_mistake_of_a_module_is_told_with_its_line(desk: Desk) -> None:
    text = (desk.root / "tools.py").read_text()
    text = text.replace('name="get_ticket"', 'name="GetTicket"').replace(
        '"..card": "redact"', '"..card-no": "hide"'
    )
    text = text.replace('permissions=["logs:read"]', "permissions=[]")
    (desk.root / "tools.py").write_text(text)
    told = desk.run("serve", "--check", "tools.py", code=2)
    line = text[: text.index("get_ticket = define_tool")].count("\n") + 1
    assert f"tools.py:{line}" in told
    for words in ("not snake_case", "position 7", "no action 'hide'", "requires no permission"):
        assert words in told


def test_check_prints_what_happens_to_each_field(desk: Desk) -> None:
    told = desk.run("serve", "--check", "tools.py")
    assert "  .customer.card   string   redact  by ..card" in told
    assert "note: .customer.id is covered by no rule: it is stripped" in told
    assert told.startswith("desk: 6 tools, nothing is wrong with the declarations; 9 notes\n")


def test_check_names_unknown_roles_amounts_as_texts_and_builders_that_fail(desk: Desk) -> None:
    text = (desk.root / "tools.py").read_text()
    text = text.replace('Is("ticket")', 'Is("tiket")').replace(
        "    id: int\n\n\nclass NewNote", "    id: Decimal\n\n\nclass NewNote"
    )
    text = text.replace("query.lines", "query.lnes").replace(
        "import desk\n", "import desk\nfrom decimal import Decimal\n"
    )
    (desk.root / "tools.py").write_text(text)
    told = desk.run("serve", "--check", "tools.py")
    assert 'note: ticket: the gateway does not declare the role "tiket". Did you mean "ticket"?' in told
    assert "note: id can come as a text, too, and rules compare numbers only" in told
    assert "note: args_builder failed whatever it was asked with: can lines be taken for options?" in told
    line = text[: text.index("desk_log = define_tool")].count("\n") + 1
    assert f"desk__desk_log (read; needs logs:read; line {line})" in told


def _annotated(name: str, schema: dict[str, Any], args: list[Any]) -> dict[str, Any]:
    digest = tool_digest(ToolListing(name=name, input_schema=schema))
    known = {"schema_digest": digest, "input_schema": schema}
    return {"tool": name, "side_effects": False, "args": args, **known}


def beside(desk: Desk) -> None:
    """Let another server stand beside the gateway, with output policies for its tools."""
    filtered = {".": "allow", "..email": "mask", "..card": "redact"}
    tools = ("find_person", "tell_person", "fail")
    crm = {
        "command": sys.executable,
        "args": [str(PEOPLE)],
        "sandbox": False,
        "output": dict.fromkeys(tools, filtered),
    }
    config = {"mcpServers": {"desk": {"gateway": "tools.py"}, "crm": crm}}
    (desk.root / "mcp-servers.json").write_text(json.dumps(config))
    annotations = json.loads((desk.root / "tool-annotations.json").read_text())
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    args = [{"name": "id", "roles": ["none"]}]
    annotations["servers"]["crm"] = {"tools": [_annotated(name, schema, args) for name in tools]}
    (desk.root / "tool-annotations.json").write_text(json.dumps(annotations))
    policy = json.loads((desk.root / "compiled-policy.json").read_text())
    rule = {**policy["rules"][1], "name": "crm", "if": {"server": ["crm"], "tool": list(tools)}}
    policy["rules"].append(rule)
    (desk.root / "compiled-policy.json").write_text(json.dumps(policy))
    shutil.rmtree(desk.bundle)
    named = ("--policy", "compiled-policy.json", "--annotations", "tool-annotations.json")
    desk.run("bundle", *named, "-o", "bundle")


def test_answers_of_a_server_beside_the_gateway_are_filtered(desk: Desk) -> None:
    beside(desk)

    async def story() -> None:
        parameters = desk.parameters()
        parameters.args[parameters.args.index("tools.py")] = "mcp-servers.json"
        async with Client(parameters, mode="legacy") as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert "desk__get_ticket" in listed
            promised = listed["crm__find_person"].output_schema
            assert promised is not None
            assert set(promised["properties"]) == {
                "id",
                "name",
                "email",
                "tags",
            }
            found = await client.call_tool("crm__find_person", {"id": 1})
            assert found.structured_content == {"id": 1, "name": "Ada", "email": "a***m", "tags": []}
            assert [block.type for block in found.content] == ["text"]
            assert "ada@example.com" not in found.model_dump_json()
            told = await client.call_tool("crm__tell_person", {"id": 1})
            assert json.loads(text_of(told)) == {"id": 1, "email": "a***m"}
            assert text_of(await client.call_tool("crm__fail", {"id": 1})) == "The tool failed."

    anyio.run(story)
    assert [record["output"]["masked"] for record in desk.results()] == [{"..email": 1}, {"..email": 1}, {}]


def test_preview_says_why_each_value_stays_or_goes(desk: Desk) -> None:
    sample = {"id": "SUP-1", "customer": {"name": "Ada Lovelace", "card": "4111"}, "notes": []}
    (desk.root / "sample.json").write_text(json.dumps(sample))
    told = desk.run("preview", "desk__get_ticket", "sample.json", "--tools", "tools.py")
    assert '"name": "A***e"' in told
    assert "4111" not in told
    assert ".customer.card  redact  by ..card" in told
    assert "note: the tool never answers this, for .title is not as declared: Field required" in told


UNREADABLE = [
    ("{", ":1:2\n"),
    ('{"id": "SUP-1", "id": "SUP-2"}', 'duplicate key "id"'),
    ('{"id": NaN}', "NaN is not JSON"),
]


@pytest.mark.parametrize(("text", "said"), UNREADABLE)
def test_preview_says_why_a_sample_is_no_answer(desk: Desk, text: str, said: str) -> None:
    (desk.root / "sample.json").write_text(text)
    assert said in desk.run("preview", "desk__get_ticket", "sample.json", "--tools", "tools.py", code=2)


def test_preview_names_the_tool_that_was_meant(desk: Desk) -> None:
    told = desk.run("preview", "desk__get_tiket", "sample.json", "--tools", "tools.py", code=2)
    assert 'there is no tool "desk__get_tiket"' in told
    assert 'Did you mean "desk__get_ticket"?' in told


def test_an_output_policy_for_a_tool_that_no_server_has_is_told_at_start(desk: Desk) -> None:
    beside(desk)
    config = json.loads((desk.root / "mcp-servers.json").read_text())
    output = config["mcpServers"]["crm"]["output"]
    output["find_preson"] = output.pop("find_person")
    (desk.root / "mcp-servers.json").write_text(json.dumps(config))
    assert "crm: 3 output policies can be read" in desk.run("serve", "--check", "mcp-servers.json")
    words = desk.root / "words"

    async def story() -> None:
        parameters = desk.parameters()
        parameters.args[parameters.args.index("tools.py")] = "mcp-servers.json"
        with words.open("w") as stderr:
            async with Client(stdio_client(parameters, errlog=stderr), mode="legacy") as client:
                await client.list_tools()

    anyio.run(story)
    assert 'server crm: an output policy is for "find_preson", which it does not have' in words.read_text()


def test_the_matrix_of_a_policy_shows_what_it_decides_of_the_gateways_tools(desk: Desk) -> None:
    told = desk.run("matrix", "bundle")
    assert "desk: add_note, get_ticket\n  ticket in SUP-**\n    allow    C1\n" in told
    assert "desk: delete_customer\n  none in call\n    escalate C3\n" in told


def test_roles_come_from_the_definitions_and_nobody_is_asked(desk: Desk) -> None:
    # The settings name no model: a question would be left open for a person.
    annotations = json.loads(desk.run("annotate", "--format", "json"))
    tools = {tool["tool"]: tool for tool in annotations["servers"]["desk"]["tools"]}
    told = [(each["name"], each["roles"], each["pii"]) for each in tools["add_note"]["args"]]
    assert told == [("ticket", ["ticket"], False), ("text", ["none"], True)]
    assert not (desk.root / "questions").exists()
