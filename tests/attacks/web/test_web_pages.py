"""Attack: something else in the browser, on this machine or behind the proxy gets into the web pages.

Held by: a host name that is drawn anew at each start, the origin and a token of each form, a code that is
good once, a cookie that no other service is sent, a content security policy, escaping, and bounds of time and
size.
"""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest
from e2e.browser import browser
from playwright.sync_api import Page, expect
from support.deployments.proxied import LONG, wait_for
from support.people.web import Web, answers, ask, read_to_the_end, web
from support.people.web_client import FORM, Person
from support.records.approvals import written
from support.services.nodes import free_port

from ironcurtain.enforcement.approvals.messages import ApprovalRequest

pytestmark = pytest.mark.timeout(600)

EVIL = "http://evil.example"


@pytest.fixture
def running(home: Path) -> Iterator[Web]:
    with web(home) as started:
        yield started


@contextmanager
def other_service(content: bytes = b"<!doctype html><title>other</title>") -> Iterator[tuple[int, list[str]]]:
    """Run another service of this machine; yield its port and the cookies that it was sent."""
    cookies: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            cookies.append(self.headers.get("cookie", ""))
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port, cookies
    finally:
        server.shutdown()
        server.server_close()


def test_a_request_for_another_name_is_refused_as_after_dns_rebinding(running: Web) -> None:
    person = Person(running)
    for host in ("evil.example", "127.0.0.1", "localhost", "ironcurtain-000000000000.localhost"):
        answer = person.get("/approvals", {"host": f"{host}:{running.port}"})
        assert answer.status_code == 421, host
        assert "waits" not in answer.text
    assert person.get("/approvals", {"host": ""}).status_code in {400, 421}


def test_a_rebound_name_in_a_real_browser_reads_nothing(running: Web) -> None:
    with browser("MAP evil.example 127.0.0.1") as chromium:
        page = running.enter(chromium.new_page())
        answer = page.goto(f"{EVIL}:{running.port}/approvals")
        assert answer is not None
        assert answer.status == 421


def test_a_post_from_elsewhere_in_any_content_type_approves_nothing(
    running: Web, home: Path, asked: ApprovalRequest
) -> None:
    person = Person(running)
    fields = person.approval(asked)
    for kind in (FORM, "text/plain", "application/json", "multipart/form-data; boundary=x", ""):
        headers = {**person.host, **person.cookie, "content-type": kind}
        for origin in ({"origin": EVIL}, {"origin": "null"}, {"origin": "http://127.0.0.1"}, {}):
            answer = person.post(f"/approvals/{asked.id}", fields, {**headers, **origin})
            assert answer.status_code == 403, (kind, origin)
        if kind != FORM:
            answer = person.post(f"/approvals/{asked.id}", fields, {**headers, "origin": running.origin})
            assert answer.status_code == 400, kind
    assert answers(home) == {}


def test_an_approval_without_a_part_of_its_form_approves_nothing(
    running: Web, home: Path, asked: ApprovalRequest
) -> None:
    person = Person(running)
    fields = person.approval(asked)
    for changed in ("form-token", "read", "shown", "answer"):
        for other in ({}, {changed: "sha256:" + "0" * 64}):
            given = {name: value for name, value in fields.items() if name != changed} | other
            person.post(f"/approvals/{asked.id}", given, {**person.own, **person.cookie})
            assert answers(home) == {}, changed
    twice = urlencode([*fields.items(), ("answer", "deny")])
    headers = {"content-type": FORM, **person.own, **person.cookie}
    address = f"{person.base}/approvals/{asked.id}"
    answer = httpx2.post(address, content=twice, headers=headers, timeout=LONG)
    assert answer.status_code == 400
    assert answers(home) == {}
    person.post(f"/approvals/{asked.id}", fields, {**person.own, **person.cookie})
    assert list(answers(home)) == [asked.id]


def test_reading_an_address_changes_nothing(running: Web, home: Path, asked: ApprovalRequest) -> None:
    person = Person(running)
    query = urlencode(person.approval(asked))
    assert person.get(f"/approvals/{asked.id}?{query}").status_code == 200
    assert person.get(f"/enter?code={running.code}").status_code == 200
    assert person.get("/leave").status_code == 404
    assert answers(home) == {}
    assert person.get("/approvals").status_code == 200


def test_a_code_that_was_used_or_replaced_lets_nobody_in(running: Web) -> None:
    first = running.code
    person = Person(running)
    for code in (first, "", "x" * 32, running.code[:-1]):
        answer = person.post("/enter", {"code": code}, person.own)
        assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)


def test_a_cookie_is_good_for_one_start_and_one_browser(home: Path) -> None:
    port = str(free_port())
    with web(home, "--port", port) as first:
        person = Person(first)
        assert person.get("/approvals").status_code == 200
        assert person.get("/approvals", {"cookie": "ironcurtain=" + "x" * 43}).status_code == 403
        twice = f"{person.cookie['cookie']}; ironcurtain=x"
        assert person.get("/approvals", {"cookie": twice}).status_code == 403
        for flag in ("HttpOnly", "SameSite=strict", "Max-Age=28800"):
            assert flag in person.set_cookie
    with web(home, "--port", port) as second:
        assert person.get("/approvals", {"host": second.host}).status_code == 403


def test_who_has_left_is_out(running: Web) -> None:
    person = Person(running)
    token = person.get("/approvals").text.split('name="form-token" value="')[1].partition('"')[0]
    assert person.post("/leave", {"form-token": token}, {**person.own, **person.cookie}).status_code == 200
    assert person.get("/approvals").status_code == 403


def test_another_service_of_this_machine_is_sent_no_cookie(running: Web) -> None:
    """Cookies know no ports: what an agent serves on this machine would be sent the one of 127.0.0.1."""
    with other_service() as (port, cookies), browser() as chromium:
        page = running.enter(chromium.new_page())
        for host in ("localhost", "other.localhost", "ironcurtain-000000000000.localhost"):
            page.goto(f"http://{host}:{port}/")
        # Even one that answers under our own name, at another port, is another origin for forms.
        assert cookies[:3] == ["", "", ""]


def test_a_page_of_another_service_cannot_frame_send_or_read(
    running: Web, home: Path, asked: ApprovalRequest
) -> None:
    content = f"""<!doctype html><iframe src="{running.origin}/approvals/{asked.id}"></iframe>
<form method="post" action="{running.origin}/approvals/{asked.id}"><input name="answer" value="approve">
<input name="read" value="yes"><button>Win a prize</button></form>"""
    with other_service(content.encode()) as (port, _), browser() as chromium:
        context = chromium.new_context()
        running.enter(context.new_page())
        page = context.new_page()
        page.goto(f"http://other.localhost:{port}/")
        wait_for(lambda: len(page.frames) == 2)
        assert "/srv/a.txt" not in page.frames[1].content()
        read = f"fetch('{running.origin}/approvals',{{credentials:'include'}}).then(a=>a.text(),e=>'refused')"
        assert page.evaluate(read) == "refused"
        page.get_by_role("button", name="Win a prize").click()
        expect(page.get_by_role("heading", name="Not done")).to_be_visible()
    assert answers(home) == {}


def test_nobody_else_listens_where_browsers_look_for_this_machine(running: Web) -> None:
    """Browsers try ::1 for names below localhost, too: who listened there would be sent the code."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family) as other:
            try:
                other.bind((host, 0))
            except OSError:
                continue  # this machine has no such address, so nobody can listen there
        with socket.socket(family) as other, pytest.raises(OSError, match="in use"):
            other.bind((host, running.port))


def test_a_path_leads_to_no_file(running: Web) -> None:
    person = Person(running)
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/../../etc/passwd"):
        with socket.create_connection(("127.0.0.1", running.port)) as raw:
            head = f"GET {path} HTTP/1.1\r\nHost: {running.host}\r\nCookie: {person.cookie['cookie']}\r\n"
            raw.sendall(f"{head}Connection: close\r\n\r\n".encode())
            answer = b"".join(iter(partial(raw.recv, 65536), b""))
        assert answer.startswith(b"HTTP/1.1 404"), (path, answer[:200])


def test_a_megabyte_of_markup_in_every_field_is_text(running: Web, home: Path) -> None:
    markup = "<script>document.title='owned'</script>\u202e&\x00"
    large = markup * 18_000
    made = written("/srv/a.txt", large, session="<b>session</b>")
    told = dict.fromkeys(("client", "server", "tool", "rule", "clause", "clause_text", "reason"), markup)
    held = {"meta": {markup: markup}, "facts": {markup: [markup]}, "caller": {markup: {markup: markup}}}
    request = made.model_copy(update={**told, **held})
    ask(home, request)
    answer = Person(running).get(f"/approvals/{request.id}")
    assert answer.status_code == 200
    assert answer.text.count("&lt;script&gt;document.title=") >= 18_000 + len(told)
    for raw in ("<script>document", "<b>session", "\u202e", "\x00"):
        assert raw not in answer.text, raw


def test_a_megabyte_of_markup_is_read_to_its_end_and_approved_in_a_real_browser(
    running: Web, home: Path
) -> None:
    request = written("/srv/a.txt", "<script>document.title='owned'</script>\u202e" * 18_000 + "THE END")
    ask(home, request)
    with browser() as chromium:
        page = running.enter(chromium.new_page())
        page.goto(f"{page.url}/{request.id}")
        box = page.locator(".request")
        expect(box).to_contain_text("THE END")
        expect(page.get_by_label("I have read all of it")).to_be_disabled()
        read_to_the_end(page)
        page.get_by_role("button", name="Approve once").click()
        expect(page.locator("#notes")).to_contain_text(f"{request.id}: approved once")
        assert "owned" not in page.title()


def test_a_body_that_is_too_large_is_not_read(running: Web) -> None:
    person = Person(running)
    large = person.post("/enter", {"code": "x" * 100_000}, person.own)
    assert large.status_code == 400


def test_a_request_that_says_in_two_ways_where_it_ends_is_refused_at_once(running: Web) -> None:
    lengths = "Content-Length: 2\r\nTransfer-Encoding: chunked"
    with socket.create_connection(("127.0.0.1", running.port)) as sent:
        sent.sendall(f"POST /enter HTTP/1.1\r\nHost: {running.host}\r\n{lengths}\r\n\r\n".encode())
        answer = sent.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"contradict" in answer


def test_a_request_that_comes_byte_by_byte_is_cut_off_and_keeps_nobody_waiting(running: Web) -> None:
    person = Person(running)
    head = f"GET /approvals HTTP/1.1\r\nHost: {running.host}\r\nX: "
    body = head.replace("GET /approvals", "POST /enter").removesuffix("X: ")
    body += f"Origin: {running.origin}\r\nContent-Type: {FORM}\r\nContent-Length: 60000\r\n\r\n"
    with ExitStack() as stack:
        for begun in (head, body):
            slow = stack.enter_context(socket.create_connection(("127.0.0.1", running.port)))
            slow.sendall(begun.encode())
            slow.settimeout(0.5)
            wait_for(lambda slow=slow: _is_cut_off(slow))  # type: ignore[misc] # the socket of this round
            assert person.get("/approvals").status_code == 200


def _is_cut_off(slow: socket.socket) -> bool:
    """Send one more byte of a request; tell whether the connection has ended, answered or not."""
    try:
        slow.sendall(b"x")
        return slow.recv(65536) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize(
    "sent",
    [
        "GET / HTTP/1.1\r\nHost: ",
        "POST /enter HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n",
        "POST /leave HTTP/1.1\r\nHost: HERE\r\nOrigin: http://HERE\r\nContent-Length: 100\r\n\r\n",
        "GET /approvals HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx",
    ],
)
def test_a_thousand_connections_that_do_not_end_their_requests_keep_nobody_out(
    running: Web, sent: str
) -> None:
    person = Person(running)
    with ExitStack() as stack:
        for _ in range(1_000):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", running.port)))
            half.sendall(sent.replace("HERE", running.host).encode())
        assert person.get("/approvals").status_code == 200
        assert len(list(Path(f"/proc/{running.process.pid}/fd").iterdir())) < 400


def test_every_answer_forbids_frames_scripts_of_others_and_keeping(running: Web) -> None:
    person = Person(running)
    for path, headers in (
        ("/approvals", {}),
        ("/static/page.js", {}),
        ("/nowhere", {}),
        ("/", {"host": "x"}),
    ):
        answer = person.get(path, headers)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


def test_a_script_that_is_not_ours_does_not_run(running: Web) -> None:
    with browser() as chromium:
        page = running.enter(chromium.new_page())
        _plant(page)
        assert page.evaluate("window.owned === undefined")


def _plant(page: Page) -> None:
    page.evaluate(
        """() => {const s = document.createElement('script'); s.textContent = 'window.owned = 1';
        document.body.append(s); const i = document.createElement('img'); i.setAttribute('onerror','owned=1');
        i.src = 'x:'; document.body.append(i);}"""
    )
