"""What rules could let a server reach: an upper bound, per server, from the rules alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.enforcement.sandbox.reach.reach import NOTHING, Places, Reach, reach_of
from ironcurtain.model.verdict import Verdict

SERVERS = {
    "files": [
        tool("read", path=["read-path"]),
        tool("write", path=["write-path"]),
        tool("move", source=["read-path", "delete-path"], to=["write-path"]),
    ],
    "git": [
        tool("log", path={"roles": ["read-path"], "repository": True}),
        tool("commit", path={"roles": ["read-path", "write-path"], "repository": True}, contained=False),
    ],
    "clone": [tool("clone", url=["git-remote-url"], path=["write-path"])],
    "clock": [tool("now", contained=False, zone=["none"])],
    "fetch": [tool("fetch", contained=False, url=["fetch-url"])],
}


def reach(
    tmp_path: Path, server: str, *rules: dict[str, Any], verdicts: set[Verdict] | None = None, **lists: Any
) -> Reach:
    bundle = write_bundle(tmp_path, SERVERS, list(rules), lists=lists or None, requests=True)
    content = PolicyContent.of(Bundle.read(bundle))
    return reach_of(content, server, verdicts) if verdicts else reach_of(content, server)


def within(roles: list[str], *places: str) -> dict[str, Any]:
    return {"roles": roles, "within": list(places)}


ASK = rule("ask", "escalate", roles=["write-path"])


def test_a_clock_reaches_nothing_though_everything_of_it_is_allowed(tmp_path: Path) -> None:
    assert reach(tmp_path, "clock", rule("all", "allow", server=["clock"])) == NOTHING
    assert reach(tmp_path, "unknown", rule("all", "allow", tool=["now"])) == NOTHING


def test_places_count_for_the_roles_that_rules_name(tmp_path: Path) -> None:
    found = reach(
        tmp_path,
        "files",
        rule("docs", "allow", paths=within(["read-path"], "~/Documents")),
        ASK,
    )
    assert found.reads == Places(("~/Documents",))
    assert found.writes == Places((), anywhere=True)
    assert found.session


@pytest.mark.parametrize(
    ("conditions", "never"),
    [
        ({}, ("~/Documents",)),
        ({"tool": ["write"]}, ()),
        ({"caller": [{"name": "/sub", "op": "equals", "value": "x"}]}, ()),
    ],
)
def test_a_denial_takes_away_where_it_holds_for_every_tool_and_whatever_else_is_said(
    tmp_path: Path, conditions: dict[str, Any], never: tuple[str, ...]
) -> None:
    denied = rule("no", "deny", paths=within(["write-path", "delete-path"], "~/Documents"), **conditions)
    assert reach(tmp_path, "files", denied, ASK).writes == Places((), anywhere=True, never=never)
    assert reach(tmp_path, "files", ASK, denied).writes.never == (), "the first that holds decides"


def test_what_an_earlier_rule_denies_whole_no_later_one_opens(tmp_path: Path) -> None:
    closed = rule("none", "deny", roles=["write-path", "delete-path"])
    later = rule("drop", "allow", paths=within(["write-path"], "~/Drop"))
    assert reach(tmp_path, "files", closed, later).writes == Places()


def test_a_guard_about_another_role_narrows_nothing(tmp_path: Path) -> None:
    guarded = rule(
        "guarded", "allow", roles=["read-path"], paths=within(["write-path"], "~/Drop"), tool=["move"]
    )
    found = reach(tmp_path, "files", guarded)
    assert (found.reads.anywhere, found.writes.named) == (True, ("~/Drop",))


def test_hosts_come_from_patterns_and_lists(tmp_path: Path) -> None:
    known = {"type": "domain", "resolved": ["example.com", "*.example.net"]}
    some = rule(
        "some", "allow", domains={"roles": ["fetch-url"], "allowed": ["@known", "docs.example.org/a"]}
    )
    found = reach(tmp_path, "fetch", some, known=known)
    assert (found.domains, found.any_domain) == (("*.example.net", "example.com", "docs.example.org"), False)
    everything = reach(tmp_path, "fetch", rule("all", "allow", tool=["fetch"]))
    assert (everything.domains, everything.any_domain) == ((), True)


def test_asked_places_count_unless_only_what_is_allowed_is_wanted(tmp_path: Path) -> None:
    made = [rule("drop", "allow", paths=within(["write-path"], "~/Drop")), ASK]
    assert reach(tmp_path, "files", *made).writes == Places(("~/Drop",), anywhere=True)
    assert reach(tmp_path, "files", *made, verdicts={Verdict.ALLOW}).writes == Places(("~/Drop",))


def test_what_is_asked_about_first_no_later_rule_opens_where_only_what_is_allowed_counts(
    tmp_path: Path,
) -> None:
    places = {"roles": ["read-path"], "within": ["~/notes/private"]}
    private = rule("private", "escalate", paths=places)
    notes = rule("notes", "allow", paths=within(["read-path"], "~/notes"))
    for made, closed in (([private, notes], ("~/notes/private",)), ([notes, private], ())):
        assert reach(tmp_path, "files", *made, verdicts={Verdict.ALLOW}).reads == Places(
            ("~/notes",), never=closed
        )
        assert reach(tmp_path, "files", *made).reads.never == ()
    guarded = rule(
        "private", "escalate", paths=places, caller=[{"name": "/sub", "op": "equals", "value": "x"}]
    )
    assert reach(tmp_path, "files", guarded, notes, verdicts={Verdict.ALLOW}).reads.never == ()


def test_what_another_tool_opens_or_writes_is_not_closed(tmp_path: Path) -> None:
    private = rule("private", "escalate", paths=within(["read-path"], "~/notes/private"), tool=["read"])
    notes = rule("notes", "allow", paths=within(["read-path"], "~/notes"))
    assert reach(tmp_path, "files", private, notes, verdicts={Verdict.ALLOW}).reads.never == ()
    writes = rule("writes", "allow", paths=within(["write-path"], "~/notes"))
    everywhere = rule("private", "escalate", paths=within(["read-path"], "~/notes/private"))
    assert reach(tmp_path, "files", everywhere, writes, verdicts={Verdict.ALLOW}).reads.never == ()


def test_a_rule_about_everybodys_files_opens_none_to_a_server_without_any(tmp_path: Path) -> None:
    everybody = rule("docs", "allow", paths=within(["read-path"], "~/Documents"))
    assert reach(tmp_path, "clock", everybody) == NOTHING
    resources = rule("docs", "allow", paths=within(["read-path"], "~/Documents"), server=["clock"])
    assert reach(tmp_path, "clock", resources).reads.named == ("~/Documents",)


def test_who_could_change_repositories(tmp_path: Path) -> None:
    """A tool that works on them, or fetches one, and writes what a rule or the sandbox permits."""
    reading, writing = ([rule("one", "allow", roles=[f"{what}-path"])] for what in ("read", "write"))
    assert [reach(tmp_path, name, *reading).repositories for name in ("git", "clone")] == [False, True]
    assert [reach(tmp_path, name, *writing).repositories for name in ("git", "files")] == [True, False]
