"""A release as a fleet sees it: published, fetched by plain OPAs, and refused once tampered with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.projects.shipped import GENERATED
from support.records.signing import Scene, archive, scene, shipped, with_serial
from support.services.bundle_server import Held, bundle_server
from support.services.plain_opa import configuration, plain_opa

from ironcurtain.analysis.engine.evaluate import load_described, prepare_scenarios
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.opening import Trust, parse_bundle
from ironcurtain.bundle.publishing.to_directory import publish_to_directory
from ironcurtain.bundle.publishing.to_server import publish_to_server
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.engine.engine import Engine
from ironcurtain.engine.locate import find
from ironcurtain.errors import BundleSignatureError, PublishError, UsageError
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.files import load

NAME = "bundle.tar.gz"
RULES = "ironcurtain/rules/data.json"
REFUSED = "Bundle load failed"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return scene(tmp_path_factory.mktemp("release"), "ES256")


@pytest.fixture
def server() -> Iterator[Held]:
    with bundle_server() as held:
        yield held


def keys(released: Scene) -> dict[str, Any]:
    public = released.key.public
    return {public.id: {"algorithm": public.algorithm, "key": public.pem}}


def signed(released: Scene, serial: int, **added: bytes) -> bytes:
    return sign(with_serial(shipped(), serial, **added), released.key).archive()


def tampered(released: Scene) -> bytes:
    rules = released.files[RULES].replace(b'"deny"', b'"allow"')
    return archive({**released.files, RULES: rules}.items())


def inputs() -> list[PolicyInput]:
    """Return what OPA is asked in the scenarios of the shipped policy."""
    scenarios = load(GENERATED / "test-scenarios.json", Scenarios)
    policy = load_described(shipped(), scenarios.world)
    prepared = prepare_scenarios(scenarios.scenarios, policy).values()
    return [each.input for each in prepared if isinstance(each, Prepared)]


async def embedded(bundle: Bundle, questions: list[PolicyInput]) -> list[Any]:
    async with Engine(find(), bundle.archive(), bundle.revision) as engine:
        return [(await engine.query(json.dumps(each).encode())).result for each in questions]


def test_plain_opas_fetch_a_release_and_decide_as_we_do(
    released: Scene, server: Held, tmp_path: Path
) -> None:
    content = released.bundle.archive()
    assert publish_to_directory(content, tmp_path / "shelf", NAME)
    assert publish_to_server(content, server.url, None)
    questions = inputs()
    assert len(questions) > 400
    expected = asyncio.run(embedded(released.bundle, questions))
    verdicts = {each["verdict"] for each in expected}
    assert verdicts == {"allow", "deny", "escalate"}
    shelf = configuration(keys(released), file=tmp_path / "shelf" / NAME)
    with plain_opa(configuration(keys(released), url=server.url)) as one, plain_opa(shelf) as other:
        for opa in (one, other):
            opa.until(opa.serves)
            assert [opa.decide(each) for each in questions] == expected


def test_a_tampered_copy_is_refused_by_a_plain_opa_and_by_us(released: Scene, server: Held) -> None:
    question = inputs()[0]
    server.content = tampered(released)
    with plain_opa(configuration(keys(released), url=server.url)) as opa:
        opa.until(lambda: opa.says(REFUSED))
        assert not opa.serves()
        assert opa.decide(question) is None
        server.content = released.bundle.archive()
        opa.until(opa.serves)
        before = opa.decide(question)
        assert before is not None
        failures = opa.log.read_text().count(REFUSED)
        server.content = tampered(released)
        opa.until(lambda: opa.log.read_text().count(REFUSED) > failures)
        assert opa.decide(question) == before
    with pytest.raises(BundleSignatureError, match=r"rules/data\.json"):
        parse_bundle(tampered(released), Trust(released.key.public), "the copy")


def test_a_release_of_another_key_is_refused_by_a_plain_opa(released: Scene, tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(sign(released.bundle, released.other).archive())
    with plain_opa(configuration(keys(released), file=path)) as opa:
        opa.until(lambda: opa.says(REFUSED))
        assert not opa.serves()


# -- what replaces what, in a directory and on a server ------------------------------------------


class Shelf:
    """A directory and a server behind one face."""

    def __init__(self, held: Held | None, directory: Path) -> None:
        self.held, self.file = held, directory / NAME

    def put(self, content: bytes) -> bool:
        if self.held is not None:
            return publish_to_server(content, self.held.url, None)
        return publish_to_directory(content, self.file.parent, NAME)

    @property
    def content(self) -> bytes | None:
        if self.held is not None:
            return self.held.content
        return self.file.read_bytes() if self.file.exists() else None

    @content.setter
    def content(self, content: bytes) -> None:
        if self.held is not None:
            self.held.content = content
        else:
            self.file.parent.mkdir(exist_ok=True)
            self.file.write_bytes(content)


@pytest.fixture(params=["directory", "server"])
def shelf(request: pytest.FixtureRequest, server: Held, tmp_path: Path) -> Shelf:
    return Shelf(server if request.param == "server" else None, tmp_path / "shelf")


def test_a_newer_release_replaces_an_older_one_once(released: Scene, shelf: Shelf) -> None:
    older, newer = released.older.archive(), released.bundle.archive()
    assert [shelf.put(older), shelf.put(newer), shelf.put(newer)] == [True, True, False]
    assert shelf.content == newer


def test_an_older_release_replaces_nothing(released: Scene, shelf: Shelf) -> None:
    shelf.put(released.bundle.archive())
    with pytest.raises(PublishError, match="serial 8, this one only 7"):
        shelf.put(released.older.archive())
    assert shelf.content == released.bundle.archive()


def test_another_policy_of_the_same_serial_replaces_nothing(released: Scene, shelf: Shelf) -> None:
    shelf.put(released.bundle.archive())
    with pytest.raises(PublishError, match="another policy of serial 8"):
        shelf.put(signed(released, 8, extra=b"{}"))
    assert shelf.content == released.bundle.archive()


def test_the_same_policy_signed_with_a_new_key_replaces_it(released: Scene, shelf: Shelf) -> None:
    shelf.put(released.bundle.archive())
    rotated = sign(released.bundle, released.other).archive()
    assert shelf.put(rotated)
    assert shelf.content == rotated


@pytest.mark.parametrize("there", [b"", b"no bundle"], ids=["empty", "foreign"])
def test_what_is_no_bundle_is_left_alone(there: bytes, released: Scene, shelf: Shelf) -> None:
    shelf.content = there
    with pytest.raises(PublishError, match="no bundle that can be compared"):
        shelf.put(released.bundle.archive())
    assert shelf.content == there


def test_of_many_who_publish_at_once_the_newest_stays(released: Scene, shelf: Shelf) -> None:
    releases = [signed(released, serial) for serial in range(1, 9)]

    def put(content: bytes) -> bool:
        try:
            return shelf.put(content)
        except PublishError:
            return False

    with ThreadPoolExecutor(8) as threads:
        assert any(threads.map(put, [*releases[::2], *releases[1::2]]))
    put(releases[-1])
    assert shelf.content == releases[-1]


def test_nothing_is_left_beside_the_bundle(released: Scene, tmp_path: Path) -> None:
    publish_to_directory(released.bundle.archive(), tmp_path, NAME)
    assert {path.name for path in tmp_path.iterdir()} <= {NAME, f".{NAME}.lock"}
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "/etc/x"])
def test_a_name_that_leads_elsewhere(name: str, released: Scene, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        publish_to_directory(released.bundle.archive(), tmp_path, name)
    assert not list(tmp_path.iterdir())


def test_a_directory_that_is_a_file(released: Scene, tmp_path: Path) -> None:
    (tmp_path / "shelf").write_text("mine")
    with pytest.raises(PublishError):
        publish_to_directory(released.bundle.archive(), tmp_path / "shelf", NAME)
    assert (tmp_path / "shelf").read_text() == "mine"


# -- servers that do not keep their part ---------------------------------------------------------


def test_the_token_goes_with_every_request(released: Scene, server: Held) -> None:
    server.token = "secret"
    with pytest.raises(PublishError, match="status 401"):
        publish_to_server(released.bundle.archive(), server.url, None)
    assert publish_to_server(released.bundle.archive(), server.url, "secret")
    assert server.content == released.bundle.archive()


def test_somebody_who_is_faster_wins(released: Scene, server: Held) -> None:
    server.content = released.older.archive()
    server.meanwhile = released.bundle.archive()
    with pytest.raises(PublishError, match="somebody else published"):
        publish_to_server(signed(released, 9), server.url, None)
    assert server.content == released.bundle.archive()


def test_somebody_who_is_faster_wins_an_empty_place(released: Scene, server: Held) -> None:
    server.meanwhile = released.bundle.archive()
    with pytest.raises(PublishError, match="somebody else published"):
        publish_to_server(released.older.archive(), server.url, None)
    assert server.content == released.bundle.archive()


@pytest.mark.parametrize("etag", ["", 'W/"{}"'], ids=["none", "weak"])
def test_a_server_without_strong_etags_is_not_trusted(etag: str, released: Scene, server: Held) -> None:
    server.content, server.etag = released.older.archive(), etag
    with pytest.raises(PublishError, match="strong ETag"):
        publish_to_server(released.bundle.archive(), server.url, None)
    assert server.content == released.older.archive()


def test_a_server_that_forgets_is_noticed(released: Scene, server: Held) -> None:
    server.forgets = True
    with pytest.raises(PublishError, match="does not serve what it was sent"):
        publish_to_server(released.bundle.archive(), server.url, None)


@pytest.mark.parametrize("status", [301, 307, 403, 500])
def test_redirects_and_failures_are_not_followed(status: int, released: Scene, server: Held) -> None:
    server.status = status
    with pytest.raises(PublishError, match=f"GET with HTTP status {status}"):
        publish_to_server(released.bundle.archive(), server.url, "secret")
    assert [method for method, _ in server.requests] == ["GET"]


def test_nobody_listens(released: Scene) -> None:
    with bundle_server() as gone:
        url = gone.url
    with pytest.raises(PublishError, match="cannot be reached"):
        publish_to_server(released.bundle.archive(), url, None)


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("ftp://host/bundle", None),
        ("http:///bundle", None),
        ("https://user:password@host.invalid/bundle", None),
        ("http://host.invalid/bundle", "secret"),
    ],
    ids=["ftp", "no-host", "password", "token-in-the-clear"],
)
def test_an_address_that_is_refused(url: str, token: str | None, released: Scene) -> None:
    with pytest.raises(UsageError):
        publish_to_server(released.bundle.archive(), url, token)
