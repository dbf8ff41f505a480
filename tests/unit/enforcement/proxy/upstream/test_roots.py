from __future__ import annotations

from pathlib import Path

import anyio
import mcp_types as types

from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.enforcement.proxy.surroundings import policy_roots
from ironcurtain.enforcement.proxy.upstream.roots import RootsTold
from ironcurtain.enforcement.sandbox.reach.reach import Places, Reach


def uris(found: types.ListRootsResult) -> list[str]:
    return [str(root.uri) for root in found.roots]


def test_the_sandbox_first_then_what_rules_open_each_real_directory_once(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    (home / "real").mkdir()
    (home / "link").symlink_to("real")
    reach = Reach(Places(("~/link", "~/real", "/srv")), Places(("~/real",)), session=True)
    resolver = Resolver(ThisHost(home=str(home)), home=str(home))
    found = policy_roots(reach, f"{home}/box", resolver)
    assert found == [f"{home}/box", f"{home}/real", "/srv"]
    anywhere = Reach(reads=Places(anywhere=True))
    assert policy_roots(anywhere, f"{home}/box", resolver) == ["/"]


def test_roots_are_wider_while_a_call_goes_on_and_as_before_when_it_is_over(tmp_path: Path) -> None:
    usual = types.ListRootsResult(roots=[types.Root(uri=(tmp_path / "box").as_uri())])
    outside = tmp_path / "a b"
    outside.mkdir()
    told, roots = [], RootsTold()

    async def tell() -> None:
        told.append(uris(roots.answered(usual))[1:])

    async def one(path: Path) -> None:
        async with roots.during([str(path)], tell):
            told.append(["sent"])

    async def all_of_them() -> None:
        await one(outside / "before it asked")
        roots.answered(usual)
        await one(tmp_path / "box" / "inside")
        await one(outside / "new" / "file")

    anyio.run(all_of_them)
    wide = [outside.as_uri()]
    assert told == [["sent"], ["sent"], wide, ["sent"], []]
