"""Attack: leave the sandbox through symlinks, so that the path judged is not the one touched.

Held by: resolving every path before it is judged, and sending what was judged.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ironcurtain.decision.canonical.paths import Resolver, is_within
from ironcurtain.decision.canonical.this_host import ThisHost
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """Return a sandbox beside a directory `outside` that holds `secret`."""
    (tmp_path / "outside" / "inner").mkdir(parents=True)
    (tmp_path / "outside" / "secret").write_text("secret")
    (tmp_path / "sandbox" / "dir").mkdir(parents=True)
    return tmp_path / "sandbox"


def resolve(text: str, sandbox: Path) -> str:
    return Resolver(ThisHost(home="/nowhere"), home="/nowhere").resolve(text, str(sandbox))


@pytest.mark.parametrize(
    ("links", "text", "touched"),
    [
        ({"ln": "{outside}"}, "ln/secret", "secret"),
        ({"ln": "../outside"}, "ln/secret", "secret"),
        ({"ln": "../outside/secret"}, "ln", "secret"),
        ({"ln": "../outside/secret"}, "ln/", "secret"),
        ({"ln": "dir/../../outside"}, "./dir/..//ln/./secret", "secret"),
        ({"ln": "../outside/inner"}, "ln/../secret", "secret"),
        ({"dir/ln": "../a", "a": "b", "b": "../outside"}, "dir/ln/secret", "secret"),
        ({"ln": "../outside/not-there-yet"}, "ln", "not-there-yet"),
        ({"ln": "../outside/not/there/yet"}, "ln/file", "not/there/yet/file"),
        ({"ln": "hop", "hop": "{outside}/not-there-yet"}, "missing/../ln", "not-there-yet"),
        ({"ln": "../outside"}, "ln" + "/n" * 70, "n" + "/n" * 69),
        ({"ln": "{outside}/secret"}, "ln/below/a/file", "secret/below/a/file"),
        ({"café": "../outside"}, "café/secret", "secret"),
    ],
)
def test_the_path_judged_is_the_one_outside(
    links: dict[str, str], text: str, touched: str, sandbox: Path
) -> None:
    outside = sandbox.parent / "outside"
    for place, target in links.items():
        (sandbox / place).symlink_to(target.format(outside=outside))
    for form in (text, f"{sandbox}/{text}"):
        assert resolve(form, sandbox) == str(outside / touched)
    assert not is_within(resolve(text, sandbox), str(sandbox))


@pytest.mark.parametrize("missing", [64, 65, 70, 100])
def test_no_number_of_missing_components_hides_where_a_symlink_leads(missing: int, sandbox: Path) -> None:
    (sandbox / "ln").symlink_to("../outside")
    assert resolve("ln" + "/n" * missing, sandbox) == f"{sandbox.parent}/outside" + "/n" * missing


@pytest.mark.parametrize("missing", [128, 129, 1000])
def test_more_missing_components_than_the_bound_are_refused(missing: int, sandbox: Path) -> None:
    (sandbox / "ln").symlink_to("../outside")
    with pytest.raises(UnrepresentableError, match="128 components"):
        resolve("ln" + "/n" * missing, sandbox)


@pytest.mark.parametrize("links", [39, 40, 41, 42, 1000])
def test_a_chain_is_followed_exactly_as_far_as_the_kernel_follows_it(links: int, sandbox: Path) -> None:
    (sandbox / "l0").symlink_to("../outside/secret")
    for number in range(1, links):
        (sandbox / f"l{number}").symlink_to(f"l{number - 1}")
    last = sandbox / f"l{links - 1}"
    try:
        touched = last.stat()
    except OSError:
        assert links > 40
        with pytest.raises(UnrepresentableError, match="more than 40"):
            resolve(str(last), sandbox)
    else:
        assert os.path.samestat(Path(resolve(str(last), sandbox)).lstat(), touched)


@pytest.mark.parametrize("target", ["ln", "./ln", "dir/../ln", "other", "ln/x", "dir/back"])
def test_loops_are_refused(target: str, sandbox: Path) -> None:
    (sandbox / "ln").symlink_to(target)
    (sandbox / "other").symlink_to("ln")
    (sandbox / "dir" / "back").symlink_to("../ln")
    for text in ("ln", "ln/x", "ln/..", "ln/../dir"):
        with pytest.raises(UnrepresentableError):
            resolve(text, sandbox)


def test_links_that_multiply_their_components_end(sandbox: Path) -> None:
    (sandbox / "l0").symlink_to("dir/../" * 500 + "dir")
    for number in range(1, 12):
        (sandbox / f"l{number}").symlink_to(f"../sandbox/l{number - 1}/../l{number - 1}")
    with pytest.raises(UnrepresentableError, match="more than 40"):
        resolve("l11", sandbox)


def test_a_name_that_the_filesystem_server_would_normalise_into_a_symlink_is_refused(sandbox: Path) -> None:
    (sandbox / "caf\u00e9").symlink_to("../outside")
    with pytest.raises(UnrepresentableError, match="Unicode"):
        resolve("cafe\u0301/secret", sandbox)
