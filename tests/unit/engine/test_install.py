"""Installing OPA: what a build and a download are checked against. A loopback server plays the release."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from ironcurtain.engine.install import check_build, download, find_go, install
from ironcurtain.engine.locate import find, pin
from ironcurtain.errors import EngineMissingError, EngineVersionError

GOOD = b"#!/bin/sh\necho 'Version: 1.22.2'\n"
OLD = b"#!/bin/sh\necho 'Version: 1.21.0'\n"


def serve(server: HTTPServer, content: bytes, digest: str | None = None) -> str:
    shown = digest if digest is not None else hashlib.sha256(content).hexdigest()
    for asset in pin().assets.values():
        server.expect_request(f"/v/{asset.name}").respond_with_data(content)
        server.expect_request(f"/v/{asset.name}.sha256").respond_with_data(f"{shown}  {asset.name}\n")
    return server.url_for("/v")


def script(directory: Path, name: str, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def quiet(_sentence: str) -> None:
    pass


def test_download_is_placed_whole_and_recorded(tmp_path: Path, httpserver: HTTPServer) -> None:
    said: list[str] = []
    release = serve(httpserver, GOOD)
    opa = install(report=said.append, cache=tmp_path / "c", search_path=str(tmp_path), release=release)
    assert (opa.path, opa.origin) == (tmp_path / "c" / "opa", "cache")
    assert opa.path.read_bytes() == GOOD
    record = json.loads((tmp_path / "c" / "opa.json").read_text())
    assert record == {"version": "1.22.2", "sha256": hashlib.sha256(GOOD).hexdigest()}
    assert len(said) == 1
    assert sorted(p.name for p in (tmp_path / "c").iterdir()) in (
        ["lock", "opa", "opa.json"],
        ["opa", "opa.json"],
    )


def test_installed_one_is_kept(tmp_path: Path, httpserver: HTTPServer) -> None:
    script(tmp_path / "c", "opa", "echo 'Version: 1.23.0'")
    opa = install(report=quiet, cache=tmp_path / "c", search_path="", release=serve(httpserver, GOOD))
    assert opa.version == "1.23.0"
    assert httpserver.log == []


@pytest.mark.parametrize("says", ["Version: 1.20.0", "nothing"])
def test_unusable_one_in_the_cache_is_replaced(tmp_path: Path, httpserver: HTTPServer, says: str) -> None:
    script(tmp_path / "c", "opa", f"echo '{says}'")
    install(report=quiet, cache=tmp_path / "c", search_path=str(tmp_path), release=serve(httpserver, GOOD))
    assert (tmp_path / "c" / "opa").read_bytes() == GOOD


def test_several_installs_at_once_download_once(tmp_path: Path, httpserver: HTTPServer) -> None:
    release = serve(httpserver, GOOD)
    with ThreadPoolExecutor(4) as pool:
        opas = list(
            pool.map(
                lambda _: install(
                    report=quiet, cache=tmp_path / "c", search_path=str(tmp_path), release=release
                ),
                range(4),
            )
        )
    assert {opa.path for opa in opas} == {tmp_path / "c" / "opa"}
    assert len(httpserver.log) == 2


def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EngineMissingError, match="cannot be installed into"):
        install(report=quiet, cache=tmp_path / "file" / "c", search_path=str(tmp_path))


@pytest.mark.parametrize("digest", ["0" * 64, "", "not a digest"])
def test_altered_download_is_refused(tmp_path: Path, httpserver: HTTPServer, digest: str) -> None:
    with pytest.raises(EngineVersionError, match="digest"):
        install(
            report=quiet,
            cache=tmp_path / "c",
            search_path=str(tmp_path),
            release=serve(httpserver, GOOD, digest),
        )
    assert not (tmp_path / "c" / "opa").exists()


def test_download_of_an_old_version_is_refused(tmp_path: Path, httpserver: HTTPServer) -> None:
    with pytest.raises(EngineVersionError, match=r"1\.21\.0"):
        install(report=quiet, cache=tmp_path / "c", search_path=str(tmp_path), release=serve(httpserver, OLD))
    assert not (tmp_path / "c" / "opa").exists()


def test_missing_digest_file_is_no_download(tmp_path: Path, httpserver: HTTPServer) -> None:
    for asset in pin().assets.values():
        httpserver.expect_request(f"/v/{asset.name}").respond_with_data(GOOD)
    with pytest.raises(EngineMissingError):
        download(tmp_path, httpserver.url_for("/v"))
    assert list(tmp_path.iterdir()) == []


def test_no_go_and_no_network_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(EngineMissingError, match=r"no Go 1\.26 to build it with") as caught:
        install(report=quiet, cache=tmp_path, search_path=str(tmp_path), release="http://127.0.0.1:9/v")
    assert "another machine on PATH" in caught.value.hint


def test_go_that_cannot_build_falls_back_to_download(tmp_path: Path, httpserver: HTTPServer) -> None:
    said: list[str] = []
    script(
        tmp_path / "bin",
        "go",
        'case "$1" in env) echo go1.26.3;; *) echo "go: no network" >&2; exit 1;; esac',
    )
    opa = install(
        report=said.append,
        cache=tmp_path / "c",
        search_path=str(tmp_path / "bin"),
        release=serve(httpserver, GOOD),
    )
    assert opa.path.read_bytes() == GOOD
    assert any("go: no network" in sentence for sentence in said)


def test_build_that_is_not_the_pinned_module_is_refused(tmp_path: Path, httpserver: HTTPServer) -> None:
    body = (
        'case "$1" in env) echo go1.26.3;; '
        'install) printf \'#!/bin/sh\\necho Version: 1.22.2\\n\' > "$GOBIN/opa"; chmod +x "$GOBIN/opa";; '
        'version) printf "\\tmod\\tgithub.com/open-policy-agent/opa\\tv1.22.2\\th1:evil=\\n";; esac'
    )
    script(tmp_path / "bin", "go", body)
    with pytest.raises(EngineVersionError, match="was not built from"):
        install(
            report=quiet,
            cache=tmp_path / "c",
            search_path=str(tmp_path / "bin"),
            release=serve(httpserver, GOOD),
        )
    assert not (tmp_path / "c" / "opa").exists()


@pytest.mark.parametrize(
    ("says", "usable"),
    [
        ("go1.26", True),
        ("go1.26.8", True),
        ("go1.30rc1", True),
        ("go2.0", True),
        ("go1.25.9", False),
        ("gcc", False),
    ],
)
def test_go_must_be_new_enough(tmp_path: Path, says: str, usable: bool) -> None:
    script(tmp_path, "go", f"echo {says}")
    assert (find_go(str(tmp_path)) is not None) is usable


def test_module_hash_of_a_real_build() -> None:
    go = find_go()
    if go is None:
        pytest.skip("no Go here")
    opa = find().path
    if pin().module_hash.encode() not in opa.read_bytes():
        pytest.skip("the OPA on PATH was not built from its module")
    check_build(opa, go)
    with pytest.raises(EngineVersionError):
        check_build(go, go)
