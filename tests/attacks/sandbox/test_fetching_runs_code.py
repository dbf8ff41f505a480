"""Attack: run code with the user's rights while a server is fetched, or run what is not pinned.

By a package of the registry, by an edited lock in a pull request, by files of the project's directory, by an
archive.

Held by: npm that can start no program, uv that builds nothing, a grammar of pins that has neither addresses
nor options, and digests of a tree that no link leaves.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from support.services.registry import NEEDS_NPM, Packages, write_sdist, write_wheel

from ironcurtain.errors import FetchError, FormatError
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.connect import parameters
from ironcurtain.servers.fetched.fetch import fetch
from ironcurtain.servers.fetched.lock import FetchedServer, Manager, ServerLock, Wanted, lock_of, write_lock
from ironcurtain.servers.fetched.tree import digests

Edit: TypeAlias = Callable[[dict[str, Any]], object]
NPM = Wanted(manager="npm", packages=("outer",))
PYTHON = Wanted(manager="pypi", packages=("py-teller",))
DIGEST = f"--hash=sha256:{'0' * 64}"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    found = Packages(tmp_path, monkeypatch)
    found.npm.publish("inner", "1.0.0")
    found.npm.publish("outer", "1.0.0", dependencies={"inner": "1.0.0"})
    yield found
    found.npm.close()


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Return a file that each attack writes if its code runs."""
    return tmp_path / "ran"


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Manager, FetchedServer]]:
    """Return where both servers were fetched to, and what the lock has of them, by manager."""
    with pytest.MonkeyPatch.context() as patch:
        packages = Packages(tmp_path_factory.mktemp("locked"), patch)
        packages.npm.publish("inner", "1.0.0")
        packages.npm.publish("outer", "1.0.0", dependencies={"inner": "1.0.0"})
        found = {wanted.manager: fetch(wanted) for wanted in (NPM, PYTHON)}
        packages.npm.close()
    return packages.data, found


def hostile_repository(place: Path, mark: Path) -> str:
    """Make a git repository that names its own git, and scripts; return its address."""
    place.mkdir()
    manifest = {
        "name": "g",
        "version": "1.0.0",
        "scripts": dict.fromkeys(("prepare", "install", "postinstall"), f"touch {mark}"),
        "dependencies": {"inner": "1.0.0", "other": "git+file:///nowhere"},
        "bundleDependencies": ["inner"],  # for these npm opens the package although it only resolves
    }
    (place / "package.json").write_text(json.dumps(manifest))
    (place / ".npmrc").write_text("git=./evil.sh\nignore-scripts=false\n")
    (place / "evil.sh").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (place / "evil.sh").chmod(0o755)
    person = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*person, "commit", "-q", "-m", "x")):
        subprocess.run(["git", *words], cwd=place, check=True)
    return f"git+file://{place}"


def older_npm(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an npm on PATH that does not know how to refuse git by itself."""
    (place / "bin").mkdir()
    program = place / "bin" / "npm"
    program.write_text(f'#!/bin/sh\nunset npm_config_allow_git\nexec {shutil.which("npm")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")


@NEEDS_NPM
@pytest.mark.parametrize("older", [False, True], ids=["this-npm", "older-npm"])
@pytest.mark.parametrize("kind", ["dependencies", "optionalDependencies"])
def test_a_dependency_from_git_that_names_its_own_git(
    packages: Packages, tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, older: bool
) -> None:
    address = hostile_repository(tmp_path / "repository", mark)
    packages.npm.publish("outer", "2.0.0", **{kind: {"g": address}})
    if older:
        older_npm(tmp_path, monkeypatch)
    with pytest.raises(FetchError, match="npm cannot fetch outer"):
        fetch(NPM)
    assert not mark.exists()
    assert packages.installed == []


@NEEDS_NPM
@pytest.mark.parametrize("permitted", ["--allow-child-process", "--no-permission"])
def test_options_for_node_that_permit_programs_again(
    packages: Packages, tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch, permitted: str
) -> None:
    packages.npm.publish(
        "outer", "2.0.0", dependencies={"g": hostile_repository(tmp_path / "repository", mark)}
    )
    older_npm(tmp_path, monkeypatch)
    monkeypatch.setenv("NODE_OPTIONS", permitted)
    with pytest.raises(FetchError, match="npm cannot fetch outer"):
        fetch(NPM)
    assert not mark.exists()


@NEEDS_NPM
@pytest.mark.parametrize("kind", ["directory", "archive", "web"])
def test_a_dependency_that_lies_outside_the_registry(
    packages: Packages, tmp_path: Path, mark: Path, kind: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "package.json").write_text('{"name": "g", "version": "1.0.0"}')
    packages.npm.publish("g", "1.0.0", scripts={"install": f"touch {mark}"})
    (outside / "g.tgz").write_bytes(packages.npm.tarballs["g/-/g-1.0.0.tgz"])
    address = {
        "directory": f"file:{outside}",
        "archive": f"file:{outside / 'g.tgz'}",
        "web": f"{packages.npm.url}g/-/g-1.0.0.tgz",
    }[kind]
    packages.npm.publish("outer", "2.0.0", dependencies={"g": address})
    with pytest.raises(FetchError, match="npm cannot fetch outer"):
        fetch(NPM)
    assert not mark.exists()
    assert packages.installed == []


@NEEDS_NPM
def test_packages_that_npm_would_build_or_that_bring_others(packages: Packages, mark: Path) -> None:
    """An alias, a bundled package with scripts and a native one are installed, and none is run."""
    scripts = dict.fromkeys(("preinstall", "install", "postinstall", "prepare"), f"touch {mark}")
    packages.npm.publish(
        "native", "1.0.0", {"binding.gyp": f"{{'variables': {{'x': '<!(touch {mark})'}}}}"}, gypfile=True
    )
    bundled = json.dumps({"name": "bundled", "version": "1.0.0", "scripts": scripts})
    packages.npm.publish(
        "outer",
        "2.0.0",
        {"node_modules/bundled/package.json": bundled},
        scripts=scripts,
        dependencies={"bundled": "1.0.0", "native": "*", "renamed": "npm:inner@^1.0.0"},
        bundleDependencies=["bundled"],
    )
    found = fetch(NPM)
    (installed,) = packages.installed
    for name in ("outer/node_modules/bundled", "native", "renamed"):
        assert (installed / "node_modules" / name / "package.json").is_file(), name
    assert not mark.exists()
    shutil.rmtree(installed)
    assert fetch(NPM, found) == found
    assert not mark.exists()


def _entry(path: str, **change: object) -> Edit:
    def edit(packages: dict[str, Any]) -> None:
        packages.setdefault(path, dict(packages["node_modules/inner"])).update(change)

    return edit


NPM_EDITS: dict[str, Edit] = {
    "from git": _entry("node_modules/inner", resolved="git+file:///tmp/x#0"),
    "from the web": _entry("node_modules/inner", resolved="http://127.0.0.1:1/x.tgz"),
    "a link": _entry("node_modules/inner", link=True),
    "a directory": _entry("../../outside"),
    "a directory inside": _entry("node_modules/../../outside"),
    "no digest": _entry("node_modules/inner", integrity=None),
    "a weak digest": _entry("node_modules/inner", integrity="sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk="),
    "bundled in nothing": _entry("node_modules/inner", integrity=None, inBundle=True),
    "an address for a version": _entry("node_modules/inner", version="git+file:///tmp/x"),
    "needs git": _entry("node_modules/inner", dependencies={"g": "git+file:///tmp/x"}),
    "needs a repository": _entry("node_modules/inner", peerDependencies={"g": "user/repository"}),
    "needs a file": _entry("node_modules/inner", optionalDependencies={"g": "g.TGZ"}),
    "needs a place": _entry("node_modules/inner", dependencies={"g": ".."}),
    "needs an alias of git": _entry("node_modules/inner", dependencies={"g": "npm:g@git+file:///x"}),
    "a program outside": _entry("node_modules/inner", bin={"inner": "../../../../outside.sh"}),
    "a program elsewhere": _entry("node_modules/inner", bin={"../../inner": "server.js"}),
}


@NEEDS_NPM
@pytest.mark.parametrize("edit", NPM_EDITS.values(), ids=NPM_EDITS)
def test_an_edited_lock_that_npm_would_run_code_for(
    locked: tuple[Path, dict[Manager, FetchedServer]], tmp_path: Path, edit: Edit
) -> None:
    file = _configured(tmp_path, ["npx", "outer"], locked[1]["npm"])
    document = json.loads(lock_of(file).read_text())
    (platform,) = document["servers"]["teller"]["platforms"].values()
    pins = json.loads("\n".join(platform["pins"]))
    edit(pins["packages"])
    platform["pins"] = json.dumps(pins, indent=2).splitlines()
    lock_of(file).write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"/servers/teller: .*(node_modules/inner|outside)"):
        load_servers(file)


@NEEDS_NPM
def test_an_edited_lock_that_asks_for_more_than_it_pins(
    packages: Packages, locked: tuple[Path, dict[Manager, FetchedServer]], tmp_path: Path, mark: Path
) -> None:
    """What stands in the lock beside its packages is not handed on."""
    address = hostile_repository(tmp_path / "repository", mark)
    found = locked[1]["npm"]
    ((name, pinned),) = found.platforms.items()
    pins = json.loads("\n".join(pinned.pins))
    pins["packages"][""]["dependencies"]["g"] = address
    pins["packages"][""]["workspaces"] = ["../../*"]
    pins["packages"]["node_modules/inner"] |= {"hasShrinkwrap": True, "acceptDependencies": {"g": address}}
    pins["dependencies"] = {"g": {"version": address}}
    edited = pinned.model_copy(update={"pins": tuple(json.dumps(pins, indent=2).splitlines())})
    again = fetch(NPM, found.model_copy(update={"platforms": {name: edited}}))
    assert again.platforms[name].tree == pinned.tree
    assert not mark.exists()
    pins["packages"]["node_modules/outer"]["name"] = "inner"
    edited = pinned.model_copy(update={"pins": tuple(json.dumps(pins, indent=2).splitlines())})
    _forget(packages)
    with pytest.raises(FetchError, match="is not what is pinned under its name"):
        fetch(NPM, found.model_copy(update={"platforms": {name: edited}}))


@pytest.mark.parametrize(
    "pin",
    [
        "--no-binary :all:",
        "x @ file:///tmp/x-1.0.tar.gz",
        f"x @ file:///tmp/x-1.0.tar.gz {DIGEST}",
        "--index-url http://127.0.0.1:1/${TOKEN}/",
        "--extra-index-url=http://127.0.0.1:1/",
        "-e .",
        "-r /etc/passwd",
        "./x.whl",
        "x==1.0",
        f"x>=1.0 {DIGEST}",
        f"x==1.0 --hash=md5:{'0' * 32}",
        f"x==1.0 {DIGEST} --global-option=x",
        f"x==1.0 ; os_name == 'x' -r y {DIGEST}",
        f"x==${{TOKEN}} {DIGEST}",
        f"x==1.0 {DIGEST}\n--no-binary :all:",
        f"x==1.0 \\\n{DIGEST}",
    ],
)
def test_an_edited_lock_that_uv_would_build_or_call_out_for(
    locked: tuple[Path, dict[Manager, FetchedServer]], tmp_path: Path, pin: str
) -> None:
    file = _configured(tmp_path, ["uvx", "py-teller"], locked[1]["pypi"])
    document = json.loads(lock_of(file).read_text())
    (platform,) = document["servers"]["teller"]["platforms"].values()
    platform["pins"].append(pin)
    lock_of(file).write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"/servers/teller: .*a version of the registry with its digest"):
        load_servers(file)


def test_an_edited_lock_whose_version_is_an_option(
    locked: tuple[Path, dict[Manager, FetchedServer]], tmp_path: Path
) -> None:
    file = _configured(tmp_path, ["uvx", "py-teller"], locked[1]["pypi"])
    document = json.loads(lock_of(file).read_text())
    document["servers"]["teller"]["version"] = "1.0.0 --index-url http://127.0.0.1:1/"
    lock_of(file).write_text(json.dumps(document))
    with pytest.raises(FormatError, match="/servers/teller/version"):
        load_servers(file)


@NEEDS_NPM
@pytest.mark.parametrize("manager", ["npm", "pypi"])
@pytest.mark.parametrize("run", ["../../../outside.sh", "/bin/sh", "node_modules/.bin/inner"])
def test_an_edited_lock_that_runs_another_program(
    packages: Packages,
    locked: tuple[Path, dict[Manager, FetchedServer]],
    tmp_path: Path,
    manager: Manager,
    run: str,
) -> None:
    shutil.copytree(locked[0], packages.data, symlinks=True)
    found = locked[1][manager]
    words = ["npx", "outer"] if manager == "npm" else ["uvx", "py-teller"]
    file = _configured(tmp_path, words, found)
    parameters("teller", load_servers(file))
    _configured(tmp_path, words, edited := found.model_copy(update={"run": run}))
    with pytest.raises(FetchError, match="its lock names the program"):
        parameters("teller", load_servers(file))
    assert fetch(found.wanted, edited) == found


@pytest.mark.parametrize("kind", ["directory", "archive", "git", "wheel"])
def test_a_wheel_whose_metadata_names_an_address(
    packages: Packages, tmp_path: Path, mark: Path, kind: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    setup = f"open({str(mark)!r}, 'w')\nfrom setuptools import setup\nsetup(name='evil', version='1.0')\n"
    write_sdist(outside, "evil", "1.0", setup)
    address = {
        "directory": f"file://{outside}/repository",
        "archive": f"file://{outside}/evil-1.0.tar.gz",
        "git": hostile_repository(outside / "repository", mark),
        "wheel": f"file://{write_wheel(outside, 'evil', '1.0')}",
    }[kind]
    (outside / "repository" / "setup.py").write_text(setup)
    write_wheel(packages.wheels, "py-teller", "2.0.0", needs=f"evil @ {address}")
    with pytest.raises(FetchError, match="py-teller cannot be fetched"):
        fetch(PYTHON)
    assert not mark.exists()
    assert packages.installed == []


def test_pip_in_the_place_of_uv(packages: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(FetchError, match="uv is not installed"):
        fetch(PYTHON)
    assert packages.installed == []


def test_a_wheel_that_hooks_into_the_start_of_python(packages: Packages, mark: Path) -> None:
    """A `.pth` file runs when its server is started, which is contained, and not before."""
    hook = f"import os; open({str(mark)!r}, 'w')\n"
    write_wheel(packages.wheels, "py-teller", "2.0.0", more={"hook.pth": hook, "sitecustomize.py": hook})
    found = fetch(PYTHON)
    assert found.version == "2.0.0"
    assert list(packages.installed[0].rglob("hook.pth"))
    assert not mark.exists()


@NEEDS_NPM
@pytest.mark.parametrize("wanted", [NPM, PYTHON], ids=["npm", "python"])
def test_a_project_that_configures_the_package_manager(
    packages: Packages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: Wanted
) -> None:
    """Where the command runs, and above the directory that servers are installed in."""
    project = tmp_path / "project"
    project.mkdir()
    for place in (project, tmp_path):
        (place / ".npmrc").write_text(
            "registry=http://127.0.0.1:1/\ngit=./evil.sh\nomit-bin=true\ncpu=none\n"
        )
        (place / "package.json").write_text('{"name": "p", "workspaces": ["data/ironcurtain/servers/.*"]}')
        (place / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "1"\n[tool.uv]\nbroken = 1\n')
        (place / "uv.toml").write_text("broken = 1\n")
    monkeypatch.chdir(project)
    monkeypatch.delenv("npm_config_registry")
    (tmp_path / "npmrc").write_text(f"registry={packages.npm.url}\n")
    fetch(wanted)
    assert len(packages.installed) == 1
    assert not (tmp_path / "node_modules").exists()
    assert not (project / "node_modules").exists()


@NEEDS_NPM
def test_an_archive_whose_entries_escape(packages: Packages, tmp_path: Path) -> None:
    packages.npm.publish("outer", "2.0.0", {"../../../../escaped.js": "x", "../../escaped.js": "x"})
    write_wheel(
        packages.wheels, "py-teller", "2.0.0", more={"../../../../escaped.py": "x", "../../escaped.py": "x"}
    )
    for wanted in (NPM, PYTHON):
        fetch(wanted)
    escaped = [path for path in tmp_path.rglob("escaped.*") if not path.is_relative_to(tmp_path / "uv-cache")]
    assert [path for path in escaped if not path.is_relative_to(packages.data)] == []


def test_a_link_that_leads_out_of_what_is_pinned(tmp_path: Path) -> None:
    place, outside = tmp_path / "installed", tmp_path / "outside.js"
    (place / "bin").mkdir(parents=True)
    outside.write_text("fine")
    (place / "server.js").write_text("fine")
    (place / "bin" / "server").symlink_to("../server.js")
    before = digests(place).tree
    (place / "server.js").write_text("evil")
    assert digests(place).tree != before
    for target in ("../../outside.js", str(outside), str(place / "server.js"), "../../gone", "../.."):
        (place / "bin" / "server").unlink()
        (place / "bin" / "server").symlink_to(target)
        with pytest.raises(FetchError, match="bin/server leads out of what was fetched"):
            digests(place)


def _configured(place: Path, words: list[str], found: FetchedServer) -> Path:
    file = place / "mcp-servers.json"
    file.write_text(json.dumps({"mcpServers": {"teller": {"command": words[0], "args": words[1:]}}}))
    write_lock(file, ServerLock(servers={"teller": found}))
    return file


def _forget(packages: Packages) -> None:
    for installed in packages.installed:
        shutil.rmtree(installed)
