"""Attack: an address of the web pages that a check was forgotten for, or that gets what it does not expect.

Held by: one guard before every route, the form that each change needs, a content security policy without
frames or other scripts, escaping, and bounds of what an address or a field can hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from ruamel.yaml import YAML
from starlette.routing import Route
from support.deployments.proxied import LONG, wait_for
from support.people.web import Web, web
from support.people.web_client import FORM, Person
from support.projects.policies import rule, tool, write_bundle
from support.records.audited import decided, write_decisions

from ironcurtain.enforcement.audit.recent import RecentRecords
from ironcurtain.web.access import Access
from ironcurtain.web.app import PageSources, unguarded_pages
from ironcurtain.web.approvals import WaitingApprovals

pytestmark = pytest.mark.timeout(600)

MARKUP = "<script>document.title='owned'</script>\u202e&\x00"
MEGABYTE = MARKUP * 24_000
EVIL = "http://evil.example"


def routes() -> list[tuple[str, str]]:
    """Return the method and an address of every route of the application."""
    nowhere = Path("/nonexistent")
    waiting, records = WaitingApprovals(nowhere, nowhere), RecentRecords(nowhere)
    shown = PageSources(waiting, records, lambda _: pytest.fail("it is asked"))
    found = unguarded_pages(Access(), shown, lambda: None, print).routes
    return [
        (method, each.path.replace("{session}", "work").replace("{id}", "0123456789abcdef"))
        for each in found
        if isinstance(each, Route)
        for method in sorted(each.methods or ())
    ]


def bundle(directory: Path, then: str) -> Path:
    """Write a policy, every text of which is hostile to whoever shows it."""
    paths = {"roles": ["read-path"], "within": ["/srv/notes"]}
    written = rule("notes", then, server=["fs"], paths=paths) | {"reason": MARKUP}
    return write_bundle(
        directory,
        {"fs": [tool("read", path=["read-path"])]},
        [written],
        policy={"clauses": [{"id": "C1", "text": f"Notes are for reading. {MEGABYTE}"}]},
    )


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    older, newer, home = (tmp_path_factory.mktemp(name) for name in ("older", "newer", "home"))
    (home / ".ironcurtain").mkdir(mode=0o700)
    record = decided(
        1,
        server=MARKUP,
        tool=MARKUP,
        rule=MARKUP,
        clause=MARKUP,
        reason=MARKUP,
        arguments={MARKUP: MEGABYTE, "more": [{MARKUP: [MARKUP]}]},
    )
    with ThreadPoolExecutor(1) as pool:
        pool.submit(partial(write_decisions, home / ".ironcurtain" / "audit"), record).result()
    options = ("--bundle", str(bundle(newer, "allow")), "--against", str(bundle(older, "deny")))
    with web(home, *options) as started:
        yield started


@pytest.fixture(scope="module")
def person(running: Web) -> Person:
    """Return the person whose pages these are, once the policies were examined."""
    let_in = Person(running)
    for path, words in (("/policy", "The decision matrix"), ("/compare", "The file of approvals")):
        wait_for(lambda path=path, words=words: words in let_in.get(path).text)  # type: ignore[misc] # of this round
    return let_in


def test_the_table_of_routes_is_not_empty() -> None:
    found = routes()
    assert ("GET", "/policy/cell") in found
    assert ("POST", "/compare/approvals") in found


@pytest.mark.parametrize(("method", "path"), routes())
def test_no_route_answers_another_name_or_who_was_not_let_in(
    running: Web, person: Person, method: str, path: str
) -> None:
    """A name that was made to lead to this machine (DNS rebinding), and a program without the cookie."""
    form = {"content-type": FORM, "origin": running.origin}
    for host in (f"evil.example:{running.port}", f"127.0.0.1:{running.port}", running.host + "."):
        headers = {**form, **person.cookie, "host": host}
        answer = httpx2.request(method, person.base + path, headers=headers, timeout=LONG)
        assert answer.status_code == 421, host
        _assert_hardened(answer)
    if path == "/enter" or path.startswith("/static/"):
        return
    for cookie in ({}, {"cookie": "ironcurtain=" + "x" * 43}):
        answer = httpx2.request(
            method, person.base + path, headers={**person.host, **form, **cookie}, timeout=LONG
        )
        assert answer.status_code == 403, path
        _assert_hardened(answer)


@pytest.mark.parametrize("path", [path for method, path in routes() if method == "POST"])
def test_no_change_is_made_for_another_site_in_any_content_type(
    running: Web, person: Person, path: str
) -> None:
    page = person.get("/approvals").text
    token = page.split('name="form-token" value="')[1].partition('"')[0]
    fields = {"form-token": token, "answer": "approve", "reason": "x", "approver": "x", "code": running.code}
    for kind in (FORM, "text/plain", "application/json", "multipart/form-data; boundary=x", ""):
        for origin in (
            {"origin": EVIL},
            {"origin": "null"},
            {"origin": f"http://127.0.0.1:{running.port}"},
            {},
        ):
            answer = person.post(
                path, fields, {**person.host, **person.cookie, "content-type": kind, **origin}
            )
            assert answer.status_code == 403, (kind, origin)
            _assert_hardened(answer)
        if kind != FORM:
            answer = person.post(path, fields, {**person.own, **person.cookie, "content-type": kind})
            assert answer.status_code == 400, kind
    if path != "/enter":
        for wrong in ({}, {"form-token": ""}, {"form-token": token[:-1]}, {"form-token": "é"}):
            given = {name: value for name, value in fields.items() if name != "form-token"} | wrong
            assert person.post(path, given, {**person.own, **person.cookie}).status_code == 403
    assert person.get("/approvals").status_code == 200


@pytest.mark.parametrize("path", [path for method, path in routes() if method == "GET"])
def test_every_page_forbids_frames_scripts_of_others_and_keeping(person: Person, path: str) -> None:
    headers = {**person.host, **person.cookie}
    with httpx2.stream("GET", person.base + path, headers=headers, timeout=LONG) as answer:
        assert answer.status_code in {200, 303, 404}
        _assert_hardened(answer)


def test_a_path_of_every_page_leads_to_no_file(person: Person) -> None:
    for _, path in routes():
        for more in ("/../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "%00"):
            answer = person.get(path.replace("0123456789abcdef", "") + more)
            assert answer.status_code in {404, 405}, (path, more)
            assert "root:" not in answer.text


@pytest.mark.parametrize("value", ["9" * 5_000, "-1", "٣", "1e3", "\x00", "", "x" * 50_000, MARKUP])
@pytest.mark.parametrize("name", ["from", "clause", "server"])
def test_what_a_query_of_the_policy_holds_is_no_fault_of_the_page(
    person: Person, name: str, value: str
) -> None:
    for path in ("/policy", "/policy/cell", "/compare"):
        answer = person.get(f"{path}?{name}={quote(value)}")
        assert answer.status_code in {200, 404}, answer.text[:200]
        assert "<script>document" not in answer.text


def test_a_megabyte_of_markup_in_every_text_of_policy_comparison_and_record_is_text(person: Person) -> None:
    activity = person.get("/activity").text
    record = activity.split('href="/activity/work/')[1].partition('"')[0]
    for path in ("/policy", "/policy?clause=C1", "/compare", "/activity", f"/activity/work/{record}"):
        answer = person.get(path)
        assert answer.status_code == 200
        assert "&lt;script&gt;document.title=" in answer.text, path
        for raw in ("<script>document", "\u202e", "\x00"):
            assert raw not in answer.text, (path, raw)
    whole = person.get(f"/activity/work/{record}").text
    assert whole.count("&lt;script&gt;document.title=") >= 24_000


def test_the_file_of_approvals_says_what_was_typed_and_no_more(person: Person) -> None:
    token = person.get("/compare").text.split('name="form-token" value="')[1].partition('"')[0]
    typed = f'a"\n- change: all\n  reason: {MARKUP}: [x'
    fields = {"form-token": token, "reason": typed, "approver": "me\r\nset-cookie: a=b"}
    answer = person.post("/compare/approvals", fields, {**person.own, **person.cookie})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == 'attachment; filename="diff-approvals.yaml"'
    assert "set-cookie" not in answer.headers
    approvals = YAML(typ="safe").load(answer.text)["approvals"]
    assert [each["reason"] for each in approvals] == [typed.strip()]
    for large in ("x" * 2_001, "x" * 60_000, "x" * 1_000_000):
        refused = person.post(
            "/compare/approvals", fields | {"reason": large}, {**person.own, **person.cookie}
        )
        assert refused.status_code == 400


def _assert_hardened(answer: httpx2.Response) -> None:
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in answer.headers
