from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.enforcement.sandbox.profile import Profile, SandboxInputs, build_profile
from ironcurtain.enforcement.sandbox.reach.reach import NOTHING, Reach
from ironcurtain.enforcement.sandbox.reach.repositories import code_of_repositories
from ironcurtain.errors import ServerConfigError
from ironcurtain.servers.config_model import FilesystemSettings, Server
from ironcurtain.system.private_runtime import runtime_directory
from ironcurtain.system.structs import replace


class Ground:
    def __init__(self, root: Path) -> None:
        self.root, self.home, self.work = root, root / "home", root / "work"
        self.reaches: dict[str, Reach] = {}
        for place in (".ssh", ".ironcurtain", "docs"):
            (self.home / place).mkdir(parents=True)
        self.work.mkdir()
        (self.work / "policy").mkdir()

    def profile(
        self, sandbox: Path | None = None, *, everybody: dict[str, Any] | None = None, **server: Any
    ) -> Profile:
        made = Server.model_validate_json(json.dumps({"command": "x", "sandbox": server or None}))
        grounds = SandboxInputs(
            home=self.home,
            workspace=sandbox or self.work,
            own=(self.home / ".ironcurtain",),
            protected=(self.work / "policy", self.home / "elsewhere"),
            directory=self.root,
            settings=FilesystemSettings.model_validate_json(json.dumps(everybody or {})),
            reaches=self.reaches,
        )
        return build_profile("one", made, grounds)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path.resolve())


def paths(listed: Iterable[Path]) -> set[str]:
    return set(map(str, listed))


def test_a_server_that_says_nothing_writes_the_sandbox_alone_and_reaches_nobody(ground: Ground) -> None:
    profile = ground.profile()
    assert (profile.allowed_domains, profile.denied_domains) == ((), ())
    assert paths(profile.allow_write) == {str(ground.work)}
    hidden = paths(profile.deny_read)
    assert {str(ground.home / ".ssh"), str(ground.home / ".ironcurtain")} <= hidden


def test_its_domains_are_its_domain_list(ground: Ground) -> None:
    profile = ground.profile(
        network={"allowedDomains": ["a.example", "*.b.example"], "deniedDomains": ["c.b.example"]}
    )
    assert profile.allowed_domains == ("a.example", "*.b.example")
    assert profile.denied_domains == ("c.b.example",)


def test_what_holds_for_everybody_and_what_a_server_says_add_up(ground: Ground) -> None:
    profile = ground.profile(
        everybody={"allowWrite": ["~/docs"], "denyRead": ["~/docs"]},
        filesystem={"allowWrite": ["work/policy"], "denyWrite": ["~/docs"], "allowRead": ["~/.ssh"]},
    )
    docs, policy = str(ground.home / "docs"), str(ground.work / "policy")
    assert paths(profile.allow_write) == {str(ground.work), docs, policy}
    assert {docs, policy} <= paths(profile.deny_write), "a protected path stays protected"
    assert docs in paths(profile.deny_read)
    assert paths(profile.allow_read) == {str(ground.home / ".ssh"), str(ground.work)}


@pytest.mark.parametrize("key", ["allowRead", "allowWrite"])
@pytest.mark.parametrize(
    "path", ["~/.ironcurtain", "~/.ironcurtain/approvals.key", "home/docs/../.ironcurtain"]
)
def test_no_configuration_opens_our_own_places(ground: Ground, key: str, path: str) -> None:
    with pytest.raises(ServerConfigError, match="kept from every server"):
        ground.profile(filesystem={key: [path]})


def test_a_link_to_our_own_places_opens_them_neither(ground: Ground) -> None:
    (ground.home / "docs" / "link").symlink_to(ground.home / ".ironcurtain")
    with pytest.raises(ServerConfigError, match="kept from every server"):
        ground.profile(filesystem={"allowWrite": ["~/docs/link"]})


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_a_directory_that_holds_what_runs_is_open_where_mounts_hide_that(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    monkeypatch.setattr("ironcurtain.system.private_runtime.PARENT", ground.home / "docs")
    runtime_directory().mkdir(mode=0o700)
    monkeypatch.setattr("sys.platform", platform)
    if platform == "darwin":
        with pytest.raises(ServerConfigError, match=r'docs", which holds ironcurtain-'):
            ground.profile(filesystem={"allowWrite": ["~/docs"]})
    else:
        profile = ground.profile(filesystem={"allowWrite": ["~/docs"]})
        assert str(ground.home / "docs") in paths(profile.allow_write)
        assert str(runtime_directory()) not in paths(profile.deny_write), "a server has its part of it"


def test_a_sandbox_inside_our_own_directory_stays_usable(ground: Ground) -> None:
    session = ground.home / ".ironcurtain" / "sessions" / "s"
    session.mkdir(parents=True)
    profile = ground.profile(session)
    assert str(session) in paths(profile.allow_write) & paths(profile.allow_read)
    assert not paths(profile.deny_write) & {str(session), str(ground.home / ".ironcurtain")}
    assert str(ground.home / ".ironcurtain") in paths(profile.deny_read)


def test_hooks_and_configuration_of_every_repository_are_code(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    for place in ("one", "deep/er/two"):
        subprocess.run(["git", "init", "--quiet", str(root / place)], check=True)
    subprocess.run(["git", "init", "--quiet", "--bare", str(root / "bare")], check=True)
    (root / "tree").mkdir()
    (root / "tree" / ".git").write_text("gitdir: /somewhere/else\n")
    (root / "loop").symlink_to(root)
    expected = [
        *(
            root / place / name
            for place in ("bare", "deep/er/two/.git", "one/.git")
            for name in ("commondir", "config", "hooks")
            if (place, name) != ("bare", "commondir")
        ),
        root / "bare",  # as a whole: with a `commondir`, git would not know that it is bare
        root / "tree" / ".git",
    ]
    assert code_of_repositories([root], home=root) == sorted(expected)


def test_a_repository_that_is_the_sandbox_itself_is_found(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    code = [tmp_path / ".git" / name for name in ("commondir", "config", "hooks")]
    assert code_of_repositories([tmp_path], home=tmp_path) == code


def test_who_writes_a_repositorys_configuration_by_name_may(ground: Ground) -> None:
    subprocess.run(["git", "init", "--quiet", str(ground.work / "repo")], check=True)
    config, hooks = (ground.work / "repo" / ".git" / name for name in ("config", "hooks"))
    assert {str(config), str(hooks)} <= paths(ground.profile().deny_write)
    opened = ground.profile(filesystem={"allowWrite": [str(config)]})
    assert str(config) not in paths(opened.deny_write)
    assert str(hooks) in paths(opened.deny_write)


def test_who_has_no_tool_for_repositories_may_be_given_one_by_name(ground: Ground) -> None:
    own = ground.work / "repo" / ".git"
    subprocess.run(["git", "init", "--quiet", str(own.parent)], check=True)
    ground.reaches = {"one": replace(NOTHING, session=True)}
    top, code = str(ground.work / ".git"), {str(own / name) for name in ("commondir", "config", "hooks")}
    held = paths(ground.profile().deny_write)
    assert {top, str(own)} <= held
    assert not held & code, "it is held as a whole"
    held = paths(ground.profile(filesystem={"allowWrite": [str(own)]}).deny_write)
    assert {top, *code} <= held
    assert str(own) not in held
