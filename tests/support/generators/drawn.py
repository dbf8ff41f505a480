"""Random tools, worlds and calls for properties and fuzzing of the decision path."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from support.called import HOME, SANDBOX

ROLES = [
    {"name": "channel", "description": "", "case": "fold", "numbers": True},
    {"name": "key", "description": "", "case": "exact", "separator": "/", "decode": "percent"},
]
GROUPS = [
    ["read-path", "write-path", "delete-path", "write-history", "delete-history"],
    ["fetch-url", "git-remote-url"],
    ["recipient"],
    ["repository", "remote-path"],
    ["channel"],
    ["key"],
    ["branch-name"],
    ["commit-message"],
    ["none"],
]
NAMES = ["a", "b", "/o/p", "/l/*/q", "/l/*/r"]
PROTECTED = (f"{HOME}/secret", f"{SANDBOX}/.env")
WORLD: dict[str, Any] = {
    "protected": PROTECTED,
    "symlinks": {f"{SANDBOX}/link": "../secret", f"{SANDBOX}/out": "/srv", f"{SANDBOX}/loop": "loop"},
    "files": {f"{SANDBOX}/twin": {"links": 2}, f"{SANDBOX}/file": {}},
    "repositories": {
        f"{SANDBOX}/repo": {"remotes": {"origin": {"fetch": ["https://github.com/u/r"], "push": ["/srv/r"]}}}
    },
    "domains": {"s": ("github.com", "*.example.com")},
}
PATHS = [
    "x", ".", "..", "link", "out/x", "loop", "twin", "file/", "repo", ".git/config", "~/x", "~", "~root/x",
    "/srv",
    "/srv/../etc", "//etc//passwd", f"{HOME}/secret", f"{SANDBOX}/.env", "/proc/self/x", "a\0b", "caf\u00e9",
    "",
    "/" + "d/" * 130, "file:///etc/x",
]  # fmt: skip
TEXTS = [
    *PATHS, "https://github.com/u/r", "HTTP://Example.com:80/%41", "https://user@evil.org/", "http://0x7f.1/",
    "git@github.com:u/r.git", "ext::sh -c id", "origin", "A@Example.com", "x <a@b.org>", "a@b.org, c@d.org",
    "Owner/Name", "a/../b", "%2e%2e/x", "General", "main", "+main:evil", '["x", "/srv"]', "x,/srv", "\u202e",
]  # fmt: skip

texts = st.sampled_from(TEXTS) | st.text(max_size=12)
scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | texts
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["p", "q", "r", "/srv", "*"]), inner, max_size=3)
    ),
    max_leaves=6,
)
plausible = st.fixed_dictionaries(
    {},
    optional={
        "a": texts | st.lists(texts, max_size=3) | values,
        "b": texts | st.lists(texts, max_size=3) | values,
        "o": st.fixed_dictionaries({}, optional={"p": texts}) | values,
        "l": st.lists(st.fixed_dictionaries({}, optional={"q": texts, "r": texts}), max_size=3) | values,
    },
)


@st.composite
def arguments_of_tools(draw: st.DrawFn, name: str) -> dict[str, Any]:
    group = draw(st.sampled_from(GROUPS))
    roles = draw(st.lists(st.sampled_from(group), min_size=1, max_size=2, unique=True))
    found: dict[str, Any] = {"name": name, "roles": roles}
    is_path = group is GROUPS[0]
    if draw(st.booleans()) and group[0] not in {"none", "branch-name", "commit-message"}:
        codec = draw(st.sampled_from(["comma", "json", "json-or-comma"]))
        found["codec"] = "addresses" if roles == ["recipient"] else codec
    if is_path:
        found |= draw(st.sampled_from([{}, {}, {"recursive": True}, {"repository": True}]))
    if draw(st.integers(0, 5)) == 0:
        found["required"] = True
    if len(roles) > 1 and draw(st.booleans()):
        del found["roles"]
        branch = {"arg": "b", "roles": roles[:1], "equals": draw(st.sampled_from(["x", True, 1]))}
        found["conditional"] = {"default": roles, "when": [branch]}
    return found


@st.composite
def tools(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    return {
        "tool": "t",
        "side_effects": True,
        "contained": draw(st.booleans()),
        "args": [draw(arguments_of_tools(name)) for name in names],
    }
