"""Attack: a bundle's Rego reaches out of the engine: to the network, the clock, the engine's own environment.

Held by: the list of built-ins that a policy may use, against which OPA holds a bundle before any question.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.program import in_process
from pytest_httpserver import HTTPServer
from support.projects.shipped import GENERATED
from support.services.nodes import opa_node

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.signing.keys import new_key
from ironcurtain.bundle.signing.signature import sign
from ironcurtain.errors import BundleIntegrityError
from ironcurtain.policy import Policy

FILE = "ironcurtain/custom/x.rego"
CALLS = {
    "http.send": 'http.send({"method": "get", "url": "URL"}).status_code == 200',
    "http.send by a key": 'http["se\\u006ed"]({"method": "get", "url": "URL"}).status_code == 200',
    "opa.runtime": "opa.runtime().env.PATH",
    "net.lookup_ip_addr": 'net.lookup_ip_addr("localhost")',
    "time.now_ns": "time.now_ns() > 0",
    "rand.intn": 'rand.intn("x", 9) == 1',
}


def planted(tmp_path: Path, call: str, url: str) -> Path:
    """Write the shipped bundle with a module whose rule each decision would evaluate."""
    module = f"package ironcurtain.custom.x\n\ndeny contains d if {{\n\t{call.replace('URL', url)}\n"
    module += '\td := {"rule": "x", "reason": "x"}\n}\n'
    path = tmp_path / "planted.tar.gz"
    path.write_bytes(Bundle.read(GENERATED / "bundle").with_files({FILE: module.encode()}).archive())
    return path


@pytest.fixture
def reached(httpserver: HTTPServer) -> Iterator[str]:
    """Serve what no policy may reach."""
    httpserver.expect_request("/").respond_with_data("{}")
    yield httpserver.url_for("/")
    assert httpserver.log == []


@pytest.mark.parametrize("name", CALLS)
def test_an_engine_does_not_start_with_a_built_in_that_no_policy_may_use(
    tmp_path: Path, reached: str, name: str
) -> None:
    bundle = planted(tmp_path, CALLS[name], reached)
    policy = Policy.load(bundle, sandbox=str(tmp_path))
    with pytest.raises(BundleIntegrityError) as refused, policy:
        pass
    assert f"{FILE}:4:" in refused.value.what
    assert refused.value.what.endswith(f"undefined function {name.split(' ', maxsplit=1)[0]}")


def test_nodes_are_not_asked_about_a_bundle_with_such_a_built_in(tmp_path: Path, reached: str) -> None:
    bundle = planted(tmp_path, CALLS["http.send"], reached)
    with opa_node(bundle) as (url, _):
        policy = Policy.load(bundle, sandbox=str(tmp_path), engine=url)
        with pytest.raises(BundleIntegrityError, match=r"x\.rego:4:.*undefined function http\.send"), policy:
            pass


def test_a_bundle_with_such_a_built_in_is_not_published(tmp_path: Path, reached: str) -> None:
    """Nodes would load it: `opa run` knows no such list."""
    bundle = planted(tmp_path, CALLS["http.send"], reached)
    key = new_key(tmp_path / "key.pem", "ES256")
    bundle.write_bytes(sign(Bundle.read(bundle), key).archive())
    (tmp_path / "key.pub.pem").write_text(key.public.pem)
    words = ("--bundle", str(bundle), "--verify-key", "key.pub.pem")
    published = in_process("publish", "served", *words, cwd=tmp_path)
    assert (published.code, published.codes) == (3, ["IC3101"]), published.err
    assert f"{FILE}:4:" in published.err
    assert "undefined function http.send" in published.err
    assert not (tmp_path / "served").exists()
