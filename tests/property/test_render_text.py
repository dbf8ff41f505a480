"""No text in a rule changes what its Rego means or breaks it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.documents import array_at, at, object_at, text_at
from support.examples import examples
from support.generators import rendered

from ironcurtain.compiler.render.render import render_policy
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.system.text import is_hidden

HOSTILE = [
    '"',
    "\n",
    "\r",
    "}",
    "{",
    "`",
    "\\",
    "# METADATA",
    "default allow := true",
    "---",
    ": ",
    "\u2028",
    "\u202e",
]
TEXT = (
    st.lists(
        st.one_of(st.sampled_from([*HOSTILE, "😀", "\U000e0041", "\x07"]), st.text(max_size=4)), min_size=1
    )
    .map("".join)
    .filter(bool)
)
SLUG = st.sampled_from(
    ["true", "null", "default", "package", "1.5", "0x10", "no", "not-in", "if", "a..b", "2026-01-01"]
)
SHOWN = TEXT.map(lambda text: "".join(c for c in text if not is_hidden(c)) or "x")


@settings(
    max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=SLUG, description=TEXT, clause=TEXT, reason=TEXT, pattern=SHOWN, value=TEXT, key=SHOWN)
def test_hostile_text_stays_text(
    tmp_path: Path, name: str, description: str, clause: str, reason: str, pattern: str, value: str, key: str
) -> None:
    condition = {
        "paths": {"roles": ["read-path"], "within": [pattern]},
        "args": [{"name": "/" + key.replace("~", "~0").replace("/", "~1"), "op": "equals", "value": value}],
    }
    rule = {
        **rendered.rule(name, "allow", condition),
        "clause": clause,
        "description": description,
        "reason": reason,
    }
    path = tmp_path / "policy.rego"
    path.write_text(
        render_policy(rendered.document([rule]), "s0", rendered.annotations_of(["s0"])), encoding="utf-8"
    )
    opa = OpaCommand(find())
    tree = opa.parse(path)
    assert opa.format(path.read_text()) == path.read_text()
    assert at(tree, "package", "path", -1, "value") == "s0"
    annotation = object_at(tree, "annotations", 1)
    assert (annotation["title"], annotation["description"]) == (name, description)
    assert annotation["custom"] == {"clause": clause}
    (only,) = array_at(tree, "rules")
    match = {
        text_at(pair, 0, "value"): at(pair, 1, "value") for pair in array_at(only, "head", "key", "value")
    }
    assert (match["order"], match["rule"], match["verdict"]) == (1, name, "allow")
    member, equal, ids = [array_at(line, "terms") for line in array_at(only, "body")]
    assert at(member, 1, "value") == pattern
    keys = [at(part, "value") for part in array_at(equal, 1, "value")]
    assert (keys, at(equal, 2, "value")) == (["input", "args", key], value)
    assert at(ids, 2, "value", -1, "value") == pattern
