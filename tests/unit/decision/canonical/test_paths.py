"""Real paths over a described world: what is accepted, what is refused, and where it leads."""

from __future__ import annotations

import pytest

from ironcurtain.decision.canonical.host_view import FileEntry, FileKind
from ironcurtain.decision.canonical.paths import Resolver, ancestors, is_within
from ironcurtain.decision.canonical.simulated_host import SimulatedHost
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.model.scenarios import DescribedFile, DescribedWorld

HOME = "/home/user"
SANDBOX = "/home/user/sandbox"
WORLD = DescribedWorld(
    home=HOME,
    sandbox=SANDBOX,
    protected=("/home/user/secret",),
    symlinks={
        f"{SANDBOX}/out": "/outside",
        f"{SANDBOX}/up": "..",
        f"{SANDBOX}/dangling": "nowhere/at/all",
        f"{SANDBOX}/absolute-dangling": "/nowhere//./at/../all/",
        f"{SANDBOX}/self": "self",
        f"{SANDBOX}/ping": "pong",
        f"{SANDBOX}/pong": "ping",
        f"{SANDBOX}/nothing": "",
        f"{SANDBOX}/bell": "ring\x07",
        f"{SANDBOX}/latin": "caf\udce9",
        f"{SANDBOX}/latin-and-back": "caf\udce9/../plain",
    },
    files={f"{SANDBOX}/file": DescribedFile(), "/outside/deep/file": DescribedFile()},
)


def resolve(text: str, base: str | None = SANDBOX) -> str:
    return Resolver(SimulatedHost(WORLD), home=HOME).resolve(text, base)


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("/home/user/other/../secret/file", "/home/user/secret/file"),
        (f"{SANDBOX}/test.txt", f"{SANDBOX}/test.txt"),
        (f"{SANDBOX}/../../../etc/passwd", "/etc/passwd"),
        (f"{SANDBOX}/../../../../../etc/passwd", "/etc/passwd"),
        (f"{SANDBOX}//./x/", f"{SANDBOX}/x"),
        (f"{SANDBOX}-evil/x", f"{SANDBOX}-evil/x"),
        (f"{SANDBOX}/out/x", "/outside/x"),
        (f"{SANDBOX}/out/deep/..", "/outside"),
        (f"{SANDBOX}/out/../etc", "/etc"),
        (f"{SANDBOX}/out/", "/outside"),
        (f"{SANDBOX}/up/up", f"{HOME}/up"),
        (f"{SANDBOX}/dangling", f"{SANDBOX}/nowhere/at/all"),
        (f"{SANDBOX}/dangling/../x", f"{SANDBOX}/nowhere/at/x"),
        (f"{SANDBOX}/absolute-dangling/x", "/nowhere/all/x"),
        (f"{SANDBOX}/missing/../out/x", "/outside/x"),
        (f"{SANDBOX}/missing/deep/../../../secret", "/home/user/secret"),
        (f"{SANDBOX}/file/below", f"{SANDBOX}/file/below"),
        (f"{SANDBOX}/file/", f"{SANDBOX}/file"),
        (f"{SANDBOX}/file/../out", "/outside"),
        (f"{SANDBOX}/latin-and-back", f"{SANDBOX}/plain"),
        ("~", HOME),
        ("~/", HOME),
        ("~/x", f"{HOME}/x"),
        ("~//x", f"{HOME}/x"),
        ("~/../x", "/home/x"),
        ("a/~/b", f"{SANDBOX}/a/~/b"),
        ("./~root", f"{SANDBOX}/~root"),
        ("src/a", f"{SANDBOX}/src/a"),
        ("./a", f"{SANDBOX}/a"),
        ("../a", f"{HOME}/a"),
        (".", SANDBOX),
        ("..", HOME),
        ("/", "/"),
        ("//", "/"),
        ("/..", "/"),
        ("//etc/passwd", "/etc/passwd"),
        ("a:b", f"{SANDBOX}/a:b"),
        ("12:30/notes", f"{SANDBOX}/12:30/notes"),
        ("x/http://y", f"{SANDBOX}/x/http:/y"),
        ("%2e%2e/x", f"{SANDBOX}/%2e%2e/x"),
        ("..\\x", f"{SANDBOX}/..\\x"),
        ("...", f"{SANDBOX}/..."),
        (" ", f"{SANDBOX}/ "),
    ],
)
def test_a_path_leads_where_the_kernel_would_end_up(text: str, real: str) -> None:
    assert resolve(text) == real
    assert resolve(real) == real


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is empty"),
        ("a\x00b", "control character"),
        ("\x00", "control character"),
        ("a\nb", "control character"),
        ("a\x7f", "control character"),
        ("a\x9bb", "control character"),
        ("\x1b[2J", "control character"),
        ("\ud800", "no valid UTF-8"),
        ("a/\udce9", "no valid UTF-8"),
        ("file:///etc/passwd", "is a URL"),
        ("file:/etc/passwd", "is a URL"),
        ("file:x", "is a URL"),
        ("FiLe:x", "is a URL"),
        (" file:///etc/passwd", "is a URL"),
        ("https://example.com/x", "is a URL"),
        ("http:x", "is a URL"),
        ("made-up+scheme.1://x", "is a URL"),
        ("data:,x", "is a URL"),
        ("~root/x", "home directory of a user"),
        ("~root", "home directory of a user"),
        ("~~", "home directory of a user"),
        (f"{SANDBOX}/self", "symbolic links"),
        (f"{SANDBOX}/self/x", "symbolic links"),
        (f"{SANDBOX}/ping/../x", "symbolic links"),
        (f"{SANDBOX}/nothing", "without a target"),
        (f"{SANDBOX}/bell", "control character"),
        (f"{SANDBOX}/latin", "no valid UTF-8"),
        (f"{SANDBOX}/{'n' * 256}", "cannot be read"),
    ],
)
def test_what_has_no_exact_real_path_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(UnrepresentableError) as refusal:
        resolve(text)
    assert reason in refusal.value.reason
    assert refusal.value.reason.isprintable()


@pytest.mark.parametrize("text", ["x", ".", "../x", "a/~", "a:b"])
def test_a_relative_path_without_a_directory_to_start_from_is_refused(text: str) -> None:
    with pytest.raises(UnrepresentableError, match="relative path"):
        resolve(text, base=None)


@pytest.mark.parametrize("text", ["~/x", "/x", "~"])
def test_an_absolute_path_needs_no_directory_to_start_from(text: str) -> None:
    assert resolve(text, base=None) == resolve(text, base=SANDBOX)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("/" + "/".join(["n"] * 128), True),
        ("/" + "/".join(["n"] * 129), False),
        ("/" + "/".join(["."] * 129), False),
        ("/" + "/".join(["n"] * 128) + "/" * 50, True),
        ("/n" * 126 + "/..", True),
        ("/" + "/".join(["é" * 100] * 20) + "/" + "n" * 75, True),
        ("/" + "/".join(["é" * 100] * 20) + "/" + "n" * 76, False),
        ("/" * 4097, False),
        ("/" * 4096, True),
    ],
)
def test_bounds_of_the_text(text: str, fits: bool) -> None:
    if fits:
        assert resolve(text).startswith("/")
    else:
        with pytest.raises(UnrepresentableError, match="more than"):
            resolve(text)


@pytest.mark.parametrize(("tail", "fits"), [(78, True), (79, False)])
def test_bounds_hold_for_what_a_symlink_leads_to(tail: int, fits: bool) -> None:
    world = SimulatedHost(DescribedWorld(symlinks={"/deep": "/t" * 50}))
    text = "/deep" + "/n" * tail
    if fits:
        assert Resolver(world, home=HOME).resolve(text, None) == "/t" * 50 + "/n" * tail
    else:
        with pytest.raises(UnrepresentableError, match="128 components"):
            Resolver(world, home=HOME).resolve(text, None)


@pytest.mark.parametrize(("links", "fits"), [(1, True), (40, True), (41, False)])
def test_as_many_symlinks_as_the_kernel_follows(links: int, fits: bool) -> None:
    chain = {f"/l{number}": f"l{number - 1}" for number in range(1, links + 1)}
    resolver = Resolver(SimulatedHost(DescribedWorld(symlinks=chain)), home=HOME)
    if fits:
        assert resolver.resolve(f"/l{links}", None) == "/l0"
    else:
        with pytest.raises(UnrepresentableError, match="more than 40"):
            resolver.resolve(f"/l{links}", None)


@pytest.mark.parametrize(
    ("text", "home", "base"), [("~/x", "", None), ("~", "user", None), ("x", HOME, ""), ("x", HOME, "d")]
)
def test_nothing_starts_from_a_directory_that_is_not_absolute(text: str, home: str, base: str | None) -> None:
    with pytest.raises(UnrepresentableError, match="itself no absolute path"):
        Resolver(SimulatedHost(WORLD), home=home).resolve(text, base)


def test_the_count_of_symlinks_starts_anew_for_every_path_of_a_call() -> None:
    resolver = Resolver(SimulatedHost(DescribedWorld(symlinks={"/l": "/t"})), home=HOME)
    assert [resolver.resolve("/l/x", None) for _ in range(100)] == ["/t/x"] * 100


def test_a_home_that_is_a_symlink_yields_real_paths() -> None:
    world = SimulatedHost(DescribedWorld(home="/home/link", symlinks={"/home/link": "/data/user"}))
    assert Resolver(world, home="/home/link").resolve("~/x", None) == "/data/user/x"


def test_unicode_look_alikes_stay_distinct() -> None:
    spellings = [
        "sécret",
        "secret",
        "se\u0441ret",
        "\uff53ecret",
        "sec\u200bret",
        "\uff0e\uff0e",
        "se\uff0fcret",
    ]
    assert len({resolve(text) for text in spellings}) == len(spellings)
    assert all(is_within(resolve(text), SANDBOX) for text in spellings)


@pytest.mark.parametrize(
    ("stored", "asked"),
    [("café", "cafe\u0301"), ("cafe\u0301", "café"), ("\u212aey", "Key"), ("Ångström", "\u212bngström")],
)
def test_a_missing_name_that_a_normalising_server_takes_for_another_is_refused(
    stored: str, asked: str
) -> None:
    world = SimulatedHost(DescribedWorld(symlinks={f"/d/{stored}": "/elsewhere"}))
    assert Resolver(world, home=HOME).resolve(f"/d/{stored}/x", None) == "/elsewhere/x"
    with pytest.raises(UnrepresentableError, match="Unicode normalisation"):
        Resolver(world, home=HOME).resolve(f"/d/{asked}/x", None)


def test_two_equivalent_names_that_both_exist_are_two_files() -> None:
    files = {f"/d/{name}": DescribedFile() for name in ("café", "cafe\u0301")}
    resolver = Resolver(SimulatedHost(DescribedWorld(files=files)), home=HOME)
    assert {resolver.resolve(path, None) for path in files} == set(files)


class CaseFoldingWorld(SimulatedHost):
    """A described world on a file system that finds names in any case, as macOS does by default."""

    def entry(self, path: str) -> FileEntry | None:
        stored = "/"
        for name in path.split("/")[1:]:
            same = [each for each in self.children(stored) if each.casefold() == name.casefold()]
            if not same:
                return None
            stored = f"{stored.rstrip('/')}/{same[0]}"
        return super().entry(stored)


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("/USERS/me/SECRET", "/Users/Me/secret"),
        ("/users/ME/New/File", "/Users/Me/New/File"),
        ("/users/me/LINK/x", "/Users/Me/secret/x"),
        ("/users/me/secret/..", "/Users/Me"),
    ],
)
def test_existing_components_get_their_stored_spelling(text: str, real: str) -> None:
    described = DescribedWorld(protected=("/Users/Me/secret",), symlinks={"/Users/Me/link": "SECRET"})
    assert Resolver(CaseFoldingWorld(described), home=HOME).resolve(text, None) == real


def test_entry_tells_what_stands_at_a_real_path() -> None:
    resolver = Resolver(SimulatedHost(WORLD), home=HOME)
    found = [resolver.entry(path) for path in (SANDBOX, f"{SANDBOX}/file", f"{SANDBOX}/out", "/missing")]
    assert [entry and entry.kind for entry in found] == [
        FileKind.DIRECTORY,
        FileKind.FILE,
        FileKind.SYMLINK,
        None,
    ]


@pytest.mark.parametrize(
    ("path", "directory", "within"),
    [
        ("/a/secret", "/a/secret", True),
        ("/a/secret/x", "/a/secret", True),
        ("/a/secret2", "/a/secret", False),
        ("/a", "/a/secret", False),
        ("/a", "/", True),
        ("/", "/", True),
        ("/", "/a", False),
    ],
)
def test_is_within_compares_whole_components(path: str, directory: str, within: bool) -> None:
    assert is_within(path, directory) is within
    assert (directory in ancestors(path)) is within


def test_ancestors_begin_with_the_path_and_end_with_the_root() -> None:
    assert ancestors("/a/b") == ("/a/b", "/a", "/")
    assert ancestors("/") == ("/",)
