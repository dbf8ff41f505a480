"""Attack: a program that drives the person's browser, or has its cookie, approves in its pages.

Held by: `--confirm`, whose passkey signs the digest of exactly one approval, for our origin alone, once its
authenticator has verified the user.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from e2e.program import program
from support.people.passkeys import NAME, PRESENT, VERIFIED, Signer
from support.people.web import Web, answers, ask, use, web
from support.people.web_client import Person
from support.records.approvals import written
from support.services.nodes import free_port

from ironcurtain.enforcement.approvals.messages import ApprovalRequest, ApprovalState
from ironcurtain.enforcement.approvals.request import Clock, ask_again, shown_digest
from ironcurtain.web.passkeys import Passkeys

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def signer(home: Path) -> Signer:
    made = Signer()
    made.register(home)
    return made


@pytest.fixture
def running(home: Path, signer: Signer) -> Iterator[Web]:
    assert signer.used == 1, "its passkey is registered, and was not used"
    with web(home, "--confirm") as started:
        assert started.host.partition(".")[2] == f"{NAME}:{started.port}"
        yield started


def options(person: Person, request: ApprovalRequest, choice: str = "approve") -> str:
    """Return what the page of a request gives a browser to ask for the passkey."""
    page = person.get(f"/approvals/{request.id}").text
    found = re.search(f'value="{choice}"[^>]* data-asks-passkey="([^"]+)"', page)
    assert found
    return html.unescape(found[1])


def to_make(person: Person) -> str:
    """Return what the page that registers a passkey gives a browser."""
    found = re.search('data-makes-passkey="([^"]+)"', person.get("/passkey").text)
    assert found
    return html.unescape(found[1])


def post(person: Person, request: ApprovalRequest, passkey: str, **other: str) -> httpx2.Response:
    fields = person.approval(request) | {"passkey": passkey} | other
    return person.post(f"/approvals/{request.id}", fields, {**person.own, **person.cookie})


def test_an_approval_without_the_passkeys_word_is_none(
    running: Web, home: Path, asked: ApprovalRequest, signer: Signer
) -> None:
    person = Person(running)
    given, origin = options(person, asked), running.origin
    stranger = Signer(credential=signer.credential, used=100)
    port = f":{running.port}"
    wrong = {
        "nothing": "",
        "no JSON": "{",
        "nested JSON": "[" * 15_000,
        "no credential": "{}",
        "another key": stranger.sign(given, origin),
        "another credential of it": signer.sign(given, origin, credential=b"another"),
        "another origin": signer.sign(given, "http://evil.example"),
        "another port of our name": signer.sign(given, origin.replace(port, ":1")),
        "another name beside ours": signer.sign(given, f"http://ironcurtain-000000000000.{NAME}{port}"),
        "the name that it was made for": signer.sign(given, f"http://{NAME}{port}"),
        "for another name": signer.sign(given, origin, name="evil.example"),
        "nobody present": signer.sign(given, origin, flags=0),
        "nobody verified": signer.sign(given, origin, flags=PRESENT),
        "verified but not present": signer.sign(given, origin, flags=VERIFIED),
        "our page inside another one": signer.sign(given, origin, crossOrigin=True),
        "a registration": signer.sign(given, origin, type_="webauthn.create"),
        "another challenge": signer.sign('{"challenge": "AAAA"}', origin),
        "a changed signature": signer.sign(given, origin).replace('"signature": "', '"signature": "AAAA'),
    }
    for name, passkey in wrong.items():
        answer = post(person, asked, passkey)
        assert answer.status_code == 303, name
        assert f"{asked.id} was not approved: " in person.get("/approvals").text, name
        assert answers(home) == {}, name
    post(person, asked, signer.sign(given, origin))
    assert '"verdict":"approved"' in answers(home)[asked.id]


def test_what_was_signed_for_one_approval_is_good_for_no_other(
    running: Web, home: Path, asked: ApprovalRequest, signer: Signer
) -> None:
    other = written("/srv/other.txt")
    ask(home, other)
    person = Person(running)
    for_other = signer.sign(options(person, other), running.origin)
    for_once = signer.sign(options(person, asked), running.origin)
    post(person, asked, for_other)
    post(person, asked, for_once, answer="approve-session")
    post(person, asked, for_once, shown="sha256:" + "0" * 64)
    assert answers(home) == {}
    post(person, asked, for_once)
    post(person, other, for_once)
    assert list(answers(home)) == [asked.id]


def test_what_was_signed_for_a_denial_approves_nothing(
    running: Web, home: Path, asked: ApprovalRequest, signer: Signer
) -> None:
    """No page asks for it; a browser that is driven can."""
    person = Person(running)
    shown = person.approval(asked)["shown"]
    denial = Passkeys(home / ".ironcurtain" / "passkey.json").to_approve(asked.id, shown, "deny")
    for answer in ("approve", "approve-session"):
        post(person, asked, signer.sign(denial, running.origin), answer=answer)
        assert answers(home) == {}, answer


@pytest.mark.parametrize("counts", [True, False])
def test_what_was_signed_is_good_once(
    running: Web, home: Path, asked: ApprovalRequest, signer: Signer, counts: bool
) -> None:
    """Neither when the same call is asked about again, nor after the person has denied it instead.

    An authenticator that does not count its uses tells no repetition from the first time.
    """
    signer.counts, signer.used = counts, int(counts)
    denied = written("/srv/denied.txt")
    ask(home, denied)
    person = Person(running)
    for_denied = signer.sign(options(person, denied), running.origin)
    post(person, denied, "", answer="deny")
    signed = signer.sign(options(person, asked), running.origin)
    post(person, asked, signed)
    before = answers(home)
    assert sorted(before) == sorted([asked.id, denied.id])
    post(person, denied, for_denied)
    post(person, asked, signed)
    post(person, asked, signed, answer="approve-session")
    assert answers(home) == before
    used = use(home, asked)
    assert used is not None
    assert used.approved
    again = ask_again(asked, Clock())
    ask(home, again)
    post(person, again, signed)
    post(person, again, signed, shown=shown_digest(asked))
    assert again.id not in answers(home)
    assert f"{again.id} was not approved" in person.get("/approvals").text


def test_what_was_signed_before_a_restart_approves_nothing_after_it(
    home: Path, asked: ApprovalRequest, signer: Signer
) -> None:
    given = ("--confirm", "--port", str(free_port()))
    with web(home, *given) as first:
        signed = signer.sign(options(Person(first), asked), first.origin)
    with web(home, *given) as second:
        person = Person(second)
        post(person, asked, signed)
        assert answers(home) == {}
        post(person, asked, signer.sign(options(person, asked), second.origin))
    assert list(answers(home)) == [asked.id]


def test_a_second_browser_without_the_passkey_approves_nothing(
    running: Web, home: Path, asked: ApprovalRequest, signer: Signer
) -> None:
    other = written("/srv/other.txt")
    ask(home, other)
    first = Person(running)
    second = Person(running)
    signed = signer.sign(options(first, asked), running.origin)
    post(second, asked, "")
    post(second, asked, Signer().sign(options(second, asked), running.origin))
    post(second, other, signed)
    assert (
        post(second, asked, signed, **{"form-token": first.approval(asked)["form-token"]}).status_code == 403
    )
    assert answers(home) == {}
    post(first, asked, signed)
    assert list(answers(home)) == [asked.id]


def test_the_terminal_asks_for_no_passkey_and_what_only_looks_like_its_answer_counts_for_nothing(
    running: Web, home: Path, asked: ApprovalRequest
) -> None:
    """The passkey guards the pages; an answer of the account itself is sealed with the approvals key."""
    other = written("/srv/other.txt")
    ask(home, other)
    assert program("approvals", "approve", other.id, "--yes", HOME=str(home)).code == 0
    person = Person(running)
    post(person, other, "", answer="deny", shown=shown_digest(other))
    assert f"{other.id} was not denied: it is answered already" in person.get("/approvals").text
    sealed = answers(home)[other.id]
    forged = sealed.replace(other.id, asked.id).replace(other.binding, asked.binding)
    (home / ".ironcurtain" / "approvals" / f"response-{asked.id}.json").write_text(forged)
    used = use(home, other), use(home, asked)
    assert [each and each.state for each in used] == [ApprovalState.APPROVED, ApprovalState.INVALID]


def test_a_copy_of_the_passkey_that_has_counted_less_is_refused(
    running: Web, home: Path, asked: ApprovalRequest, signer: Signer
) -> None:
    other = written("/srv/other.txt")
    ask(home, other)
    person = Person(running)
    copy = Signer(key=signer.key, used=1)
    signer.used = 7
    post(person, asked, signer.sign(options(person, asked), running.origin))
    for used in (0, 1, 6, 7):
        copy.used = used
        post(person, other, copy.sign(options(person, other), running.origin))
        assert list(answers(home)) == [asked.id], used
    post(person, other, signer.sign(options(person, other), running.origin))
    assert sorted(answers(home)) == sorted([asked.id, other.id])


def test_a_second_passkey_takes_the_place_of_none(home: Path, asked: ApprovalRequest) -> None:
    """Neither beside the one that is there, nor after that was removed while the command runs."""
    file = home / ".ironcurtain" / "passkey.json"

    def register(person: Person, made: str) -> int:
        token = person.approval(asked)["form-token"]
        fields = {"form-token": token, "passkey": made}
        return person.post("/passkey", fields, {**person.own, **person.cookie}).status_code

    with web(home, "--confirm") as running:
        first = Person(running)
        second = Person(running)
        offered = {person: to_make(person) for person in (first, second)}
        made = Signer(credential=b"second").make(offered[second], running.origin)
        assert register(first, made) == 400, "it was made in another session"
        assert register(second, Signer().make(offered[second], "http://evil.example")) == 400
        framed = Signer().make(offered[second], running.origin, crossOrigin=True)
        assert register(second, framed) == 400
        assert not file.exists()
        assert register(first, Signer().make(offered[first], running.origin)) == 303
        before = file.read_bytes()
        assert register(second, made) == 400
        assert file.read_bytes() == before
        file.unlink()
        assert register(second, made) == 400
        assert not file.exists()
        assert "data-makes-passkey" not in second.get("/passkey").text
        post(second, asked, Signer().sign('{"challenge": "AAAA"}', running.origin))
        assert answers(home) == {}


def test_a_passkey_whose_file_was_replaced_while_the_command_runs(
    running: Web, home: Path, asked: ApprovalRequest, signer: Signer
) -> None:
    """A program of the user puts a passkey of its own there, and signs with it."""
    person = Person(running)
    offered = options(person, asked)
    theirs = Signer(credential=b"theirs")
    theirs.register(home)
    post(person, asked, theirs.sign(offered, running.origin))
    post(person, asked, signer.sign(offered, running.origin))
    assert answers(home) == {}
    assert "was replaced since this command started" in person.get(f"/approvals/{asked.id}").text


def test_denying_asks_for_no_passkey(running: Web, home: Path, asked: ApprovalRequest) -> None:
    post(Person(running), asked, "", answer="deny")
    assert '"verdict":"denied"' in answers(home)[asked.id]
