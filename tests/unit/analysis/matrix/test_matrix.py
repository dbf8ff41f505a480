"""The decision matrix: what it says, that it names no rules, and that it says when it is not exact."""

from __future__ import annotations

from html import escape
from random import Random
from typing import Any

import pytest
from support.generators import spaces
from support.projects import shipped
from support.projects.policies import annotations_of, compiled, tool

from ironcurtain.analysis.clauses.report import ClauseOutcome, ClauseReport
from ironcurtain.analysis.explain.report import QuotedClause
from ironcurtain.analysis.matrix.html import html_page
from ironcurtain.analysis.matrix.matrix import decision_matrix, matrix_json
from ironcurtain.analysis.matrix.report import Matrix, Table
from ironcurtain.analysis.matrix.text import markdown_lines, text_lines
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.render.custom_modules import CustomModule
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import EvidenceError
from ironcurtain.model.policy import Claim
from ironcurtain.model.scenarios import DescribedWorld

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")

NO_CLAUSES = ClauseReport(revision=f"sha256:{'0' * 64}", clauses=())


def bundle_of(
    tools: list[dict[str, Any]], rules: list[dict[str, Any]], custom: tuple[CustomModule, ...] = ()
) -> Bundle:
    annotated = annotations_of({"s": tools})
    release = Release(engine_version="test")
    return assemble(compiled(rules), annotated, registry=Registry(()), release=release, custom=custom)


def rule(name: str, then: str, **conditions: Any) -> dict[str, Any]:
    return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": conditions}


def matrix_of(tools: list[dict[str, Any]], rules: list[dict[str, Any]]) -> Matrix:
    return decision_matrix(bundle_of(tools, rules), WORLD, OpaCommand(find()))


def rows_of(table: Table) -> list[tuple[Any, ...]]:
    return [
        (row.roles, row.where, [(outcome.verdict.value, outcome.when) for outcome in row.outcomes])
        for row in table.rows
    ]


def with_schema(
    name: str, properties: dict[str, Any], required: tuple[str, ...] = (), **args: Any
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return tool(name, **args) | {"input_schema": schema}


def test_a_pattern_with_an_escape_of_its_own_is_escaped_once() -> None:
    annotated = with_schema("f", {"note": {"type": "string"}}, note=["none"])
    test = {"name": "note", "op": "matches", "value": "[^\\x00-\\x7F]\\d"}
    found = matrix_of([annotated], [rule("r", "allow", tool=["f"], args=[test])])
    once = "[^\\\\x00-\\\\x7F]\\d"
    assert [line for line in text_lines(found) if once in line]
    assert escape(f'"{once}"') in html_page(found, NO_CLAUSES)
    marked = once.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    assert [line for line in markdown_lines(found) if marked in line]


def reading(name: str) -> dict[str, Any]:
    return with_schema(name, {"path": {"type": "string"}}, ("path",), path=["read-path"])


def test_a_tool_whose_arguments_may_all_be_absent_or_empty_has_a_row_for_the_call() -> None:
    (table,) = matrix_of(
        [tool("read", path=["read-path"])], [rule("r", "allow", roles=["read-path"])]
    ).servers["s"]
    assert (("none",), ("call",), [("deny", ())]) in rows_of(table)


def test_places_that_act_alike_are_one_row_and_the_most_specific_one_counts() -> None:
    rules = [
        rule("deep", "deny", paths={"roles": ["read-path"], "within": ["~/a/private", "~/b/private"]}),
        rule("same", "allow", paths={"roles": ["read-path"], "within": ["~/a", "~/a/inner", "~/b"]}),
    ]
    (table,) = matrix_of([reading("read"), reading("look")], rules).servers["s"]
    assert table.tools == ("look", "read")
    assert table.exactness == "exact"
    assert rows_of(table) == [
        (("read-path",), ("the sandbox",), [("allow", ())]),
        (("read-path",), ("~/a", "~/b"), [("allow", ())]),
        (("read-path",), ("~/a/private", "~/b/private"), [("deny", ())]),
        (("read-path",), ("everything else",), [("deny", ())]),
    ]


def test_modes_and_guards_are_told_apart_only_where_a_rule_does() -> None:
    properties = {"from": {"type": "string"}, "to": {"type": "string"}, "n": {"type": "integer"}}
    copying = with_schema(
        "copy", properties, ("from", "to"), **{"from": ["read-path"]}, to=["write-path"], n=["none"]
    )
    rules = [
        rule(
            "guarded",
            "allow",
            paths=[{"roles": ["read-path"], "within": ["~/a"]}, {"roles": ["write-path"], "within": ["~/b"]}],
            args=[{"name": "n", "op": "le", "value": 5}],
        )
    ]
    (table,) = matrix_of([copying], rules).servers["s"]
    found = {(row.roles, row.where): row for row in table.rows}
    said = {(o.verdict.value, o.when) for o in found[("read-path",), ("~/a",)].outcomes}
    assert said == {
        ("allow", ("every write-path in ~/b", "n ≤ 5")),
        ("deny", ("n ≤ 5", "not every write-path in ~/b")),
        ("deny", ("not (n ≤ 5)",)),
    }
    assert [o.verdict.value for o in found[("read-path",), ("everything else",)].outcomes] == ["deny"]


def test_golden_text_is_the_same_for_renamed_rules_and_again_and_names_none() -> None:
    def renamed(rules: list[dict[str, Any]]) -> None:
        for number, each in enumerate(rules):
            each["name"] = f"zz-{number}"

    opa = OpaCommand(find())
    once = matrix_json(decision_matrix(shipped.bundle(), shipped.world(), opa))
    again = matrix_json(decision_matrix(shipped.bundle(renamed), shipped.world(), opa))
    assert once == again
    assert "filesystem-allow" not in once
    assert '"C7"' in once
    assert "sampled" not in once


def test_url_rows_show_the_gate_as_a_floor_beside_the_policy() -> None:
    world = WORLD.model_copy(update={"domains": {"s": ("example.com",)}})
    rules = [rule("open", "allow", tool=["fetch"])]
    found = decision_matrix(
        bundle_of([with_schema("fetch", {"url": {"type": "string"}}, ("url",), url=["fetch-url"])], rules),
        world,
        OpaCommand(find()),
    )
    floors = {row.where: (row.floor, row.outcomes[0].verdict.value) for row in found.servers["s"][0].rows}
    assert floors == {
        ("example.com",): (None, "allow"),
        ("everything else",): ("structural-domain-escalate", "allow"),
    }


@pytest.mark.parametrize(
    ("properties", "tests", "reason"),
    [
        ({"n": {"type": "string"}}, {"op": "matches", "value": "\\pL+"}, "a set of Unicode"),
        ({"n": {"type": "array"}}, {"op": "gt", "value": 10**6, "measure": "count"}, "more elements"),
        ({"n": {"type": "string"}}, {"op": "gt", "value": 10**6, "measure": "length"}, "a text longer"),
        (
            {"n": {"type": "string", "not": {"maxLength": 60}}, "m": {"type": "string"}},
            {"op": "equals", "value": {"arg": "m"}},
            "values that are compared",
        ),
    ],
)
def test_what_cannot_be_exact_says_so(properties: dict[str, Any], tests: dict[str, Any], reason: str) -> None:
    opaque: dict[str, Any] = {name: ["none"] for name in properties}
    tools = [with_schema("t", properties, **opaque)]
    (table,) = matrix_of(tools, [rule("r", "allow", tool=["t"], args=[{"name": "n", **tests}])]).servers["s"]
    assert table.exactness == "sampled"
    assert reason in table.reasons[0]


@pytest.mark.parametrize(
    ("schema", "tests"),
    [
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"op": "equals", "value": 1}),
        ({"oneOf": [{"minimum": 1}, {"maximum": 5}]}, {"op": "equals", "value": 3}),
        ({"type": "string"}, {"op": "matches", "value": "(?i)a"}),
        ({"type": "array", "uniqueItems": True}, {"op": "gt", "value": 3, "measure": "count"}),
        ({"type": "string", "pattern": "^\\pL+$"}, {"op": "equals", "value": "x"}),
    ],
)
def test_what_a_schema_says_beyond_types_takes_no_proof_away(
    schema: dict[str, Any], tests: dict[str, Any]
) -> None:
    tools = [with_schema("t", {"n": schema}, n=["none"])]
    (table,) = matrix_of(tools, [rule("r", "allow", tool=["t"], args=[{"name": "n", **tests}])]).servers["s"]
    assert table.exactness == "exact"
    assert {o.verdict.value for row in table.rows for o in row.outcomes} == {"allow", "deny"}


def test_every_format_says_what_is_not_exact_and_why() -> None:
    properties = {"n": {"type": "string"}}
    test = {"name": "n", "op": "matches", "value": "\\pL+"}
    found = matrix_of(
        [with_schema("t", properties, n=["none"])], [rule("r", "allow", tool=["t"], args=[test])]
    )
    (reason,) = found.servers["s"][0].reasons
    assert "a set of Unicode" in reason
    assert f"  sampled: {reason}" in list(text_lines(found))
    markdown = list(markdown_lines(found))
    said = next(place for place, line in enumerate(markdown) if line.startswith("Sampled, not exact: "))
    assert "a set of Unicode" in markdown[said]
    assert markdown[said + 1] == ""
    assert f'<p class="sampled">Sampled, not exact: s/t: {escape(reason)}.</p>' in html_page(
        found, NO_CLAUSES
    )


READ_WHERE_N_IS_R = {
    "when": [{"arg": "n", "equals": "r", "roles": ["read-path"]}],
    "default": ["read-path", "write-path"],
}
UNREAD = {"name": "n", "op": "matches", "value": "\\pL+"}
NESTED = {"type": "array", "items": {"type": "object", "properties": {"path": {}, "n": {}}}}


def test_rows_that_rest_on_nothing_unread_are_exact_in_a_sampled_table() -> None:
    properties = {"path": {"type": "string"}, "n": {"type": "string"}}
    tools = [with_schema("t", properties, ("path",), path=["read-path"], n=["none"])]
    rules = [
        rule("named", "deny", paths={"roles": ["read-path"], "within": ["~/a"]}, args=[UNREAD], tool=["t"]),
        rule("rest", "allow", roles=["read-path"]),
    ]
    found = matrix_of(tools, rules)
    (table,) = found.servers["s"]
    assert table.exactness == "sampled"
    assert {row.where: row.exactness for row in table.rows} == {
        ("~/a",): "sampled",
        ("everything else",): "exact",
        ("the sandbox",): "exact",
    }
    text = list(text_lines(found))
    assert "  read-path in ~/a (sampled)" in text
    assert "  read-path in everything else" in text
    told = [line.split(" | ") for line in markdown_lines(found) if line.startswith("| read-path")]
    assert {cells[1]: "sampled" in cells[3] for cells in told} == {
        "~/a": True,
        "everything else": False,
        "the sandbox": False,
    }
    lines = [line for line in html_page(found, NO_CLAUSES).splitlines() if "<tr data-tool" in line]
    assert lines
    assert all(('class="sampled"' in line) is ("<td>~/a<" in line) for line in lines)
    assert matrix_json(found).count('"exactness": "sampled"') == 2


@pytest.mark.parametrize(
    ("properties", "args", "test"),
    [
        # The roles of the path depend on what was not read.
        (
            {"path": {"type": "string"}, "n": {"type": "string"}},
            {"path": {"conditional": READ_WHERE_N_IS_R}, "n": ["none"]},
            UNREAD,
        ),
        # Which elements there are depends on it, and with them what guards find.
        (
            {"path": {"type": "string"}, "files": NESTED},
            {"path": ["read-path"], "/files/*/path": ["write-path"], "/files/*/n": ["none"]},
            {"name": "/files/*/n", "op": "equals", "value": 5, "over": "some"},
        ),
    ],
)
def test_no_row_is_exact_where_what_is_unread_decides_which_resources_there_are(
    properties: dict[str, Any], args: dict[str, Any], test: dict[str, Any]
) -> None:
    tools = [with_schema("t", properties, ("path",), **args)]
    rules = [
        rule("unread", "deny", paths={"roles": ["write-path"], "within": ["~/b"]}, args=[test], tool=["t"]),
        rule(
            "guarded",
            "deny",
            roles=["read-path"],
            paths={"roles": ["write-path"], "within": ["~/a"]},
        ),
        rule("rest", "allow", roles=["read-path", "write-path"]),
    ]
    (table,) = matrix_of(tools, rules).servers["s"]
    assert table.rows
    assert {row.exactness for row in table.rows} == {"sampled"}


def test_modules_of_the_project_make_every_table_sampled() -> None:
    rule_text = 'deny contains {"id": "call", "reason": "no"} if input.args.n == 1'
    text = f"package ironcurtain.custom.night\n\n{rule_text}\n"
    module = CustomModule("ironcurtain/custom/night.rego", text, frozenset(), source="mine.rego")
    bundle = bundle_of([tool("t", n=["none"])], [rule("r", "allow", tool=["t"])], (module,))
    (table,) = decision_matrix(bundle, WORLD, OpaCommand(find())).servers["s"]
    assert table.reasons == ("modules of the project's own",)


def test_a_policy_with_too_many_ways_is_refused_with_the_arguments_that_cause_it() -> None:
    names = [f"a{number}" for number in range(40)]
    opaque: dict[str, Any] = {name: ["none"] for name in names}
    tools = [with_schema("t", {name: {"type": "integer"} for name in names}, **opaque)]
    tests = [{"name": name, "op": "gt", "value": 1} for name in names]
    rules = [
        rule(
            f"r{number}",
            "allow" if number % 2 else "deny",
            tool=["t"],
            args=tests[2 * number : 2 * number + 2],
        )
        for number in range(20)
    ]
    with pytest.raises(EvidenceError, match="ways to a verdict") as refused:
        matrix_of(tools, rules)
    assert "a0 (2 classes)" in refused.value.hint


def test_a_hostile_tool_name_cannot_break_out_of_the_page_or_the_table() -> None:
    name = "a|b`<script>alert(1)</script>\u202e"
    found = matrix_of([tool(name, path=["read-path"])], [rule("r", "allow", roles=["read-path"])])
    hostile = QuotedClause(id="C1", text=name)
    claim = Claim(clause="C1", reason=name)
    told = (ClauseOutcome(clause=hostile, outcome="not-kept", claims=(claim,)),)
    page = html_page(found, NO_CLAUSES.model_copy(update={"clauses": told}))
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert page.count("<script>") == 1
    markdown = "\n".join(markdown_lines(found))
    assert "a\\|b\\`\\<script\\>" in markdown
    assert "\u202e" not in "\n".join(text_lines(found))


def test_random_policies_have_matrices_that_are_byte_stable() -> None:
    rules = spaces.random_policy(Random(3), 12)
    opa = OpaCommand(find())
    one, two = (matrix_json(decision_matrix(spaces.bundle_of(rules), spaces.WORLD, opa)) for _ in range(2))
    assert one == two
