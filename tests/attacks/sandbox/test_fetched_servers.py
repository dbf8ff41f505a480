"""Attack: a package that a client's configuration names, or what was installed of it, is somebody's trap.

It may not run its own code outside the sandbox, be another one than was pinned, or be changed afterwards.

Held by: no install scripts, wheels only, a lock with the digest of each package and of all files, looked at
before each start.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from support.projects.policies import rule, tool, write_bundle
from support.services.registry import NEEDS_NPM, Packages, javascript, write_sdist, write_wheel

from ironcurtain.errors import FetchError, ServerConfigError
from ironcurtain.policy import Policy
from ironcurtain.servers.config import ServerConfig, load_servers
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.fetched.fetch import fetch
from ironcurtain.servers.fetched.lock import FetchedServer, ServerLock, Wanted, write_lock
from ironcurtain.servers.fetched.request import request_of

Locked: TypeAlias = dict[str, FetchedServer]
"""What a lock has of servers, by the program that would fetch them."""
Kept: TypeAlias = tuple[Packages, Locked]
NPX, UVX = ("npx", "-y", "@tests/teller"), ("uvx", "py-teller")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    found = Packages(tmp_path, monkeypatch)
    yield found
    found.npm.close()


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Locked]:
    """Return where both servers were fetched to, and their parts of the lock, by the runner that asks."""
    with pytest.MonkeyPatch.context() as patch:
        packages = Packages(tmp_path_factory.mktemp("fetched"), patch)
        locked = {words[0]: fetch(wanted(words)) for words in (NPX, UVX)}
        packages.npm.close()
    return packages.data, locked


@pytest.fixture
def kept(packages: Packages, fetched: tuple[Path, Locked]) -> Kept:
    """Return packages that were fetched already: a copy of what was, to be spoilt."""
    shutil.copytree(fetched[0], packages.data, symlinks=True)
    return packages, fetched[1]


def wanted(words: tuple[str, ...]) -> Wanted:
    request = request_of(words[0], words[1:])
    assert request is not None
    return request.wanted


def installation_of(packages: Packages, found: FetchedServer) -> Path:
    (installed,) = (
        path for path in packages.installed if found.package.strip("@").replace("/", "-") in path.name
    )
    return installed


def configured(place: Path, words: tuple[str, ...], found: FetchedServer | None) -> ServerConfig:
    """Return the configuration of one server, with what was fetched of it."""
    file = place / "mcp-servers.json"
    file.write_text(json.dumps({"mcpServers": {"teller": {"command": words[0], "args": words[1:]}}}))
    if found is not None:
        write_lock(file, ServerLock(servers={"teller": found}))
    return load_servers(file)


@NEEDS_NPM
def test_an_install_script_that_runs_outside_the_sandbox(packages: Packages, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    scripts = dict.fromkeys(("preinstall", "install", "postinstall", "prepare"), f"touch {mark}")
    packages.npm.publish("trap", "1.0.0", scripts=scripts)
    packages.npm.publish("outer", "1.0.0", dependencies={"trap": "1.0.0"})
    found = fetch(wanted(("npx", "outer")))
    assert found.unrun == ("trap",)
    assert not mark.exists()


def test_a_source_package_that_runs_code_while_it_is_built(packages: Packages, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    write_sdist(packages.wheels, "trap", "1.0.0", f"open({str(mark)!r}, 'w')\nimport sys; sys.exit(1)\n")
    with pytest.raises(FetchError) as refused:
        fetch(wanted(("uvx", "trap")))
    assert "trap cannot be fetched" in refused.value.what
    assert not mark.exists()


@NEEDS_NPM
def test_another_package_under_the_version_that_was_pinned(packages: Packages) -> None:
    found = fetch(wanted(NPX))
    _remove(packages)
    packages.npm.publish("@tests/teller", "1.0.0", {"server.js": javascript("somebody else's")})
    with pytest.raises(FetchError, match="npm cannot fetch"):
        fetch(wanted(NPX), found)
    assert packages.installed == []


def test_another_wheel_under_the_version_that_was_pinned(packages: Packages) -> None:
    found = fetch(wanted(UVX))
    _remove(packages)
    write_wheel(packages.wheels, "py-teller", "1.0.0", "somebody else's")
    with pytest.raises(FetchError, match="py-teller cannot be fetched"):
        fetch(wanted(UVX), found)
    assert packages.installed == []


@NEEDS_NPM
def test_a_tool_call_that_rewrites_what_was_installed_or_its_lock(kept: Kept, tmp_path: Path) -> None:
    packages, locked = kept
    config = configured(tmp_path, NPX, locked["npx"])
    installed = installation_of(packages, locked["npx"])
    bundle = write_bundle(
        tmp_path, {"teller": [tool("write", path=["write-path"])]}, [rule("any", "allow", tool=["write"])]
    )
    with Policy.load(bundle, servers=config.path) as policy:
        for place in (installed / "node_modules" / "x.js", installed, config.path.with_suffix(".lock.json")):
            decision = policy.decide("teller", "write", {"path": str(place)})
            assert (decision.verdict, decision.rule) == ("deny", "structural-protected-path"), place
        assert policy.decide("teller", "write", {"path": str(tmp_path / "fine")}).verdict == "allow"


def _changed(installed: Path) -> None:
    file = next(path for path in installed.rglob("*") if path.name in {"server.js", "py_teller.py"})
    file.write_text("evil")


def _another_program(installed: Path) -> None:
    for link in installed.rglob(".bin/*"):
        link.unlink()
        link.symlink_to("/bin/sh")
    (installed / "start.py").write_text("evil")


def _added(installed: Path) -> None:
    (installed / "packages").mkdir(exist_ok=True)
    (installed / "packages" / "evil.pth").write_text("import os")


def _compiled(installed: Path) -> None:
    for place in (installed / "packages" / "__pycache__", installed / "__pycache__"):
        place.mkdir(parents=True, exist_ok=True)
        (place / "json.cpython-311.pyc").write_bytes(b"evil")


def _executable(installed: Path) -> None:
    file = next(path for path in installed.rglob("*") if path.name in {"package.json", "METADATA"})
    file.chmod(file.stat().st_mode ^ 0o111)


CHANGES = [_changed, _another_program, _added, _compiled, _executable]


@NEEDS_NPM
@pytest.mark.parametrize("words", [NPX, UVX], ids=["npm", "python"])
@pytest.mark.parametrize("change", CHANGES, ids=[each.__name__.strip("_") for each in CHANGES])
def test_what_was_installed_is_changed_before_the_next_start(
    kept: Kept, tmp_path: Path, words: tuple[str, ...], change: Callable[[Path], None]
) -> None:
    packages, locked = kept
    config = configured(tmp_path, words, locked[words[0]])
    installed = installation_of(packages, locked[words[0]])
    assert str(installed) in " ".join(
        (parameters("teller", config).command, *parameters("teller", config).args)
    )
    change(installed)
    with pytest.raises(FetchError, match="was changed on disk"):
        parameters("teller", config)


@NEEDS_NPM
@pytest.mark.parametrize("words", [NPX, UVX], ids=["npm", "python"])
def test_what_was_changed_is_fetched_again_by_the_lock(
    kept: Kept, tmp_path: Path, words: tuple[str, ...]
) -> None:
    packages, locked = kept
    found = locked[words[0]]
    config = configured(tmp_path, words, found)
    for change in CHANGES:
        change(installation_of(packages, found))
    with pytest.raises(FetchError, match="was changed on disk"):
        parameters("teller", config)
    assert fetch(wanted(words), found) == found
    parameters("teller", config)


def test_the_fetcher_itself_is_started_in_the_place_of_what_was_fetched(tmp_path: Path) -> None:
    config = configured(tmp_path, NPX, None)
    with pytest.raises(FetchError, match="is not fetched yet") as refused:
        parameters("teller", config)
    assert f"ironcurtain servers fetch teller --servers {config.path}" in refused.value.hint


@pytest.mark.parametrize(
    "words", [("npx", "--registry=http://127.0.0.1:1", "x"), ("uvx", "--index-url", "x", "y")]
)
def test_a_configuration_brings_its_own_registry(words: tuple[str, ...]) -> None:
    with pytest.raises(ServerConfigError, match="which is not understood"):
        request_of(words[0], words[1:])


def _remove(packages: Packages) -> None:
    for installed in packages.installed:
        shutil.rmtree(installed)
    shutil.rmtree(packages.data.parent / "npm-cache", ignore_errors=True)
    shutil.rmtree(packages.data.parent / "uv-cache", ignore_errors=True)
