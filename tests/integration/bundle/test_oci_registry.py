"""Releases in a real OCI registry: pushed, pulled, fetched by a plain OPA, and refused once tampered with."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.projects.shipped import GENERATED
from support.records.signing import Scene, archive, scene, shipped, with_serial
from support.services.oci_registry import (
    NEEDS_REGISTRY,
    PASSWORD,
    USER,
    Registry,
    digest,
    oci_registry,
    token_server,
    with_password,
)
from support.services.plain_opa import plain_opa

from ironcurtain.analysis.engine.evaluate import load_described, prepare_scenarios
from ironcurtain.bundle.oci.access import RegistryAccess
from ironcurtain.bundle.oci.client import pull, push
from ironcurtain.bundle.oci.layout import CONFIG, LAYER, MANIFEST, Artifact, Reference
from ironcurtain.bundle.opening import Trust, parse_bundle
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.decision.decide import Prepared
from ironcurtain.decision.policy_input import PolicyInput
from ironcurtain.errors import BundleSignatureError, PublishError, RegistryError, UsageError
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.files import load

pytestmark = NEEDS_REGISTRY
ANYBODY = RegistryAccess()


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return scene(tmp_path_factory.mktemp("release"), "ES256")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with oci_registry(tmp_path) as running:
        yield running


def signed(released: Scene, serial: int, **added: bytes) -> bytes:
    return sign(with_serial(shipped(), serial, **added), released.key).archive()


def at(registry: Registry, tag: str = "stable") -> Reference:
    return Reference.parse(registry.reference(tag=tag))


def manifest_of(registry: Registry, manifest: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(registry.blob(manifest).read_bytes())
    return found


def test_what_is_pushed_is_pulled_with_its_signature_by_tag_and_by_digest(
    released: Scene, registry: Registry
) -> None:
    content = released.bundle.archive()
    manifest, changed = push(content, at(registry), ANYBODY)
    assert changed
    assert push(content, at(registry), ANYBODY) == (manifest, False)
    by_tag = pull(at(registry), ANYBODY)
    assert (by_tag.archive, by_tag.digest) == (content, manifest)
    by_digest = Reference.parse(f"oci://{registry.host}/policies/agents@{manifest}")
    assert pull(by_digest, ANYBODY).archive == content
    trust = Trust(key=released.key.public)
    assert parse_bundle(by_tag.archive, trust, "pulled").revision == released.bundle.revision


def test_the_layout_is_that_of_opa_and_conftest(released: Scene, registry: Registry) -> None:
    content = released.bundle.archive()
    manifest, _ = push(content, at(registry), ANYBODY)
    found = manifest_of(registry, manifest)
    assert found["mediaType"] == MANIFEST
    assert found["config"]["mediaType"] == CONFIG
    (layer,) = found["layers"]
    assert layer == {
        "mediaType": LAYER,
        "digest": digest(content),
        "size": len(content),
        "annotations": {"org.opencontainers.image.title": "bundle.tar.gz"},
    }
    config = json.loads(registry.blob(found["config"]["digest"]).read_bytes())
    assert config["rootfs"]["type"] == "layers"
    assert found["annotations"]["org.opencontainers.image.revision"] == released.bundle.revision


def opa_configuration(released: Scene, registry: Registry, **credentials: Any) -> dict[str, Any]:
    public = released.key.public
    service = {"url": f"http://{registry.host}", "type": "oci", **credentials}
    bundle = {
        "service": "releases",
        "resource": f"{registry.host}/policies/agents:stable",
        "signing": {"keyid": public.id},
        "polling": {"min_delay_seconds": 1, "max_delay_seconds": 1},
    }
    return {
        "keys": {public.id: {"algorithm": public.algorithm, "key": public.pem}},
        "services": {"releases": service},
        "bundles": {"ironcurtain": bundle},
    }


def inputs() -> list[PolicyInput]:
    scenarios = load(GENERATED / "test-scenarios.json", Scenarios)
    policy = load_described(shipped(), scenarios.world)
    prepared = prepare_scenarios(scenarios.scenarios, policy).values()
    return [each.input for each in prepared if isinstance(each, Prepared)][:20]


def test_a_plain_opa_fetches_a_release_and_the_next_one_from_the_registry(
    released: Scene, registry: Registry
) -> None:
    push(signed(released, 7), at(registry), ANYBODY)
    with plain_opa(opa_configuration(released, registry)) as opa:
        opa.until(opa.serves)
        verdicts = {opa.decide(each)["verdict"] for each in inputs()}
        assert verdicts >= {"allow", "deny"}
        newer = signed(released, 8)
        push(newer, at(registry), ANYBODY)
        revision = parse_bundle(newer, Trust(), "newer").revision
        path = "/v1/data/system/bundles/ironcurtain/manifest/revision"
        opa.until(lambda: opa.request("GET", path)[1].get("result") == revision)


def test_an_older_release_and_another_of_the_same_serial_change_no_tag(
    released: Scene, registry: Registry
) -> None:
    newest = signed(released, 9)
    push(newest, at(registry), ANYBODY)
    for refused in (signed(released, 8), signed(released, 9, note=b"{}")):
        with pytest.raises(PublishError):
            push(refused, at(registry), ANYBODY)
    assert pull(at(registry), ANYBODY).archive == newest


def test_a_layer_that_was_changed_in_the_registry_is_refused(released: Scene, registry: Registry) -> None:
    content = released.bundle.archive()
    push(content, at(registry), ANYBODY)
    blob = registry.blob(digest(content))
    blob.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(RegistryError, match="not the one that the manifest names"):
        pull(at(registry), ANYBODY)
    blob.write_bytes(content[: len(content) // 2])
    with pytest.raises(RegistryError):
        pull(at(registry), ANYBODY)


def test_a_forged_bundle_with_a_manifest_of_its_own_fails_its_signature(
    released: Scene, registry: Registry
) -> None:
    rules = "ironcurtain/rules/data.json"
    forged = archive({**released.files, rules: released.files[rules].replace(b'"deny"', b'"allow"')}.items())
    honest = Artifact.of(released.bundle.archive())
    manifest = json.loads(honest.manifest)
    manifest["layers"][0] |= {"digest": digest(forged), "size": len(forged)}
    write(registry, honest.config, forged, json.dumps(manifest).encode())
    pulled = pull(at(registry), ANYBODY)
    assert pulled.archive == forged
    with pytest.raises(BundleSignatureError):
        parse_bundle(pulled.archive, Trust(key=released.key.public), "pulled")
    with plain_opa(opa_configuration(released, registry)) as opa:
        opa.until(lambda: opa.says("Bundle load failed") or opa.says("Bundle download failed"))
        assert not opa.serves()


@pytest.mark.parametrize(
    "layers",
    [
        [],
        [{"mediaType": "application/vnd.cncf.openpolicyagent.policy.layer.v1+rego"}],
        [{"mediaType": LAYER}, {"mediaType": LAYER}],
    ],
    ids=["none", "of conftest push", "two"],
)
def test_a_manifest_of_something_else_is_refused_and_not_overwritten(
    layers: list[dict[str, Any]], released: Scene, registry: Registry
) -> None:
    content = released.bundle.archive()
    honest = Artifact.of(content)
    manifest = json.loads(honest.manifest)
    manifest["layers"] = [{**each, "digest": digest(content), "size": len(content)} for each in layers]
    write(registry, honest.config, content, json.dumps(manifest).encode())
    with pytest.raises(RegistryError, match="a bundle has one"):
        pull(at(registry), ANYBODY)
    with pytest.raises(RegistryError):
        push(content, at(registry), ANYBODY)


def test_a_tag_that_is_not_there_is_said_to_be_missing(registry: Registry) -> None:
    with pytest.raises(RegistryError, match="nothing is there"):
        pull(at(registry, "never"), ANYBODY)


def test_a_registry_that_is_not_there_is_said_to_be_unreachable(tmp_path: Path) -> None:
    with oci_registry(tmp_path) as gone:
        reference = at(gone)
    with pytest.raises(RegistryError, match="cannot be reached"):
        pull(reference, ANYBODY)


def test_a_password_opens_a_registry_that_asks_for_one(released: Scene, tmp_path: Path) -> None:
    content = released.bundle.archive()
    with oci_registry(tmp_path, with_password(tmp_path)) as registry:
        for access in (ANYBODY, RegistryAccess(user=f"{USER}:wrong")):
            with pytest.raises(RegistryError, match="401"):
                push(content, at(registry), access)
        signed_in = RegistryAccess(user=f"{USER}:{PASSWORD}")
        push(content, at(registry), signed_in)
        assert pull(at(registry), signed_in).archive == content
        credentials = {"credentials": {"bearer": {"scheme": "Basic", "token": basic()}}}
        with plain_opa(opa_configuration(released, registry, **credentials)) as opa:
            opa.until(opa.serves)


def basic() -> str:
    """Return user and password as OPA's configuration has them; OPA encodes them."""
    return f"{USER}:{PASSWORD}"


def test_a_token_server_gives_tokens_to_push_to_who_signs_in_and_to_read_to_everybody(
    released: Scene, tmp_path: Path
) -> None:
    content = released.bundle.archive()
    with token_server(tmp_path) as auth, oci_registry(tmp_path, auth) as registry:
        with pytest.raises(RegistryError, match="401"):
            push(content, at(registry), ANYBODY)
        with pytest.raises(RegistryError, match="no token"):
            push(content, at(registry), RegistryAccess(user=f"{USER}:wrong"))
        push(content, at(registry), RegistryAccess(user=f"{USER}:{PASSWORD}"))
        assert pull(at(registry), ANYBODY).archive == content
        with pytest.raises(RegistryError, match="401"):
            pull(at(registry), RegistryAccess(token="no-such-token"))


def test_what_docker_login_left_is_shown_to_that_registry_alone(
    released: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    with oci_registry(tmp_path, with_password(tmp_path)) as registry:
        auth = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        (tmp_path / "config.json").write_text(json.dumps({"auths": {registry.host: {"auth": auth}}}))
        assert RegistryAccess.of(Reference.parse("oci://127.0.0.1:1/other:x")).user is None
        push(released.bundle.archive(), at(registry), RegistryAccess.of(at(registry)))


def test_nothing_secret_goes_over_a_network_in_the_clear(tmp_path: Path) -> None:
    file = tmp_path / "user"
    file.write_text(f"{USER}:{PASSWORD}\n")
    reference = Reference.parse("oci://registry.example/agents:stable")
    with pytest.raises(UsageError, match="in the clear"):
        RegistryAccess.of(reference, credentials_file=str(file), plain_http=True)


def write(registry: Registry, config: bytes, layer: bytes, manifest: bytes) -> None:
    """Put blobs and a manifest into a registry by hand, as anybody who may write there can."""
    connection = http.client.HTTPConnection(registry.host)
    base = "/v2/policies/agents"
    for blob in (config, layer):
        connection.request("POST", f"{base}/blobs/uploads/")
        begun = connection.getresponse()
        begun.read()
        place = begun.headers["Location"].partition(registry.host)[2]
        connection.request("PUT", f"{place}&digest={digest(blob)}", blob)
        assert connection.getresponse().read() == b""
    connection.request("PUT", f"{base}/manifests/stable", manifest, {"Content-Type": MANIFEST})
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (201, b"")
