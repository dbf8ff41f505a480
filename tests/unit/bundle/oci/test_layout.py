"""References, challenges and layouts of OCI registries, without a registry."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.projects.shipped import GENERATED

from ironcurtain.bundle.oci.access import Challenge, RegistryAccess
from ironcurtain.bundle.oci.layout import Artifact, Reference
from ironcurtain.errors import RegistryError, UsageError

DIGEST = "sha256:" + "0" * 64
HERE = Reference.parse("oci://localhost:5000/agents")
AWAY = Reference.parse("oci://registry.example/agents")


@pytest.mark.parametrize(
    ("text", "host", "name", "wanted"),
    [
        ("oci://localhost/agents", "localhost", "agents", "latest"),
        ("oci://h.example:5000/a/b-c/d_e:v1.2", "h.example:5000", "a/b-c/d_e", "v1.2"),
        (f"oci://h/a@{DIGEST}", "h", "a", DIGEST),
        (f"oci://h/a:t@{DIGEST}", "h", "a", DIGEST),
        ("oci://[::1]:5000/a", "[::1]:5000", "a", "latest"),
    ],
)
def test_a_reference_is_read(text: str, host: str, name: str, wanted: str) -> None:
    found = Reference.parse(text)
    assert (found.host, found.name, found.wanted) == (host, name, wanted)


@pytest.mark.parametrize(
    "text",
    [
        "oci://h",
        "oci://h/",
        "oci://h/A",
        "oci://user:secret@h/a",
        "oci://h/a/../b",
        "oci://h/a:",
        "oci://h/a@sha256:00",
        "oci://h/a?x=y",
        "OCI://h/a",
        "https://h/a",
        "oci://h/a:tag/b",
        "oci://h/a\n",
    ],
)
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="names no artifact"):
        Reference.parse(text)


@pytest.mark.parametrize(
    ("text", "here"),
    [
        ("oci://localhost/a", True),
        ("oci://127.0.0.1:5000/a", True),
        ("oci://[::1]:5000/a", True),
        ("oci://localhost.example/a", False),
        ("oci://127.0.0.1.example:5000/a", False),
        ("oci://example/a", False),
    ],
)
def test_only_this_machine_is_loopback(text: str, here: bool) -> None:
    assert Reference.parse(text).is_loopback is here


def test_a_password_is_sent_to_a_token_server_over_tls_or_on_this_machine_alone() -> None:
    def realm(address: str, reference: Reference) -> str:
        return Challenge.parse(f'Bearer realm="{address}",service="s"', "w").realm(reference)

    assert realm("https://tokens.example/t", AWAY) == "https://tokens.example/t"
    assert realm("http://127.0.0.1:1/t", HERE) == "http://127.0.0.1:1/t"
    for address, reference in (
        ("http://tokens.example/t", AWAY),
        ("http://tokens.example/t", HERE),
        ("http://127.0.0.1:1/t", AWAY),
        ("file:///etc/passwd", HERE),
        ("", HERE),
    ):
        with pytest.raises(RegistryError, match="no token server over https"):
            realm(address, reference)


def test_a_challenge_of_another_kind_is_said_to_be_unknown() -> None:
    with pytest.raises(RegistryError, match="not known"):
        Challenge.parse("Negotiate", "w")


def test_an_artifact_follows_from_the_archive_alone() -> None:
    content = (GENERATED / "bundle.tar.gz").read_bytes()
    assert Artifact.of(content) == Artifact.of(content)
    assert Artifact.of(content).layer == content


def test_what_a_plain_registry_elsewhere_is_shown_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_text('{"auths": {"registry.example": {"auth": "YTpi"}}}')
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert RegistryAccess.of(AWAY).user == "a:b"
    assert RegistryAccess.of(AWAY, plain_http=True) == RegistryAccess(plain_http=True)
