"""What makes an annotation weaker than another, and what drift is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.compiler.annotate.changes import (
    annotation_digest,
    drift_notes,
    unconfirmed_weakenings,
    weaker,
)
from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.errors import UnconfirmedAnnotationError
from ironcurtain.model.annotations import Annotations
from ironcurtain.servers.tools import ListedServer, ToolListing, Tools, tool_digest
from ironcurtain.system.frozen import JsonValue

DIGEST = f"sha256:{'0' * 64}"


def annotated(*args: dict[str, Any], **more: Any) -> Annotations:
    tool = {"tool": "t", "side_effects": True, "schema_digest": DIGEST, "args": list(args), **more}
    document = {"format": "ironcurtain/annotations/v1", "servers": {"s": {"tools": [tool]}}}
    return Annotations.model_validate_json(json.dumps(document))


def reasons(old: Annotations, new: Annotations) -> list[str]:
    return list(weaker(old.servers["s"].tools[0], new.servers["s"].tools[0]))


def arg(name: str, *roles: str, **flags: Any) -> dict[str, Any]:
    return {"name": name, "roles": list(roles), **flags}


BRANCH = {"arg": "dry", "equals": True, "roles": ["read-path"]}
BOTH = {"name": "p", "conditional": {"default": ["read-path", "write-path"], "when": [BRANCH]}}
OWNER = (arg("owner", "none"), arg("repo", "none"))
JOINED = {"composites": [{"role": "repository", "join": ["owner", "repo"], "with": "/"}]}
WEAKER: list[tuple[Annotations, Annotations, str]] = [
    (annotated(arg("p", "read-path")), annotated(arg("p", "none")), "loses the role read-path"),
    (
        annotated(arg("p", "read-path", "delete-path")),
        annotated(arg("p", "read-path")),
        "loses the role delete-path",
    ),
    (annotated(arg("p", "read-path", "write-path")), annotated(BOTH), "under other conditions"),
    (
        annotated(arg("p", "read-path")),
        annotated(arg("p", "read-path"), contained=True),
        "contained now",
    ),
    (annotated(), annotated(side_effects=False), "no side effects"),
    (annotated(*OWNER, **JOINED), annotated(*OWNER), "not joined any more"),
    *(
        (
            annotated(arg("p", "read-path", **{flag: True})),
            annotated(arg("p", "read-path")),
            f"not {flag}",
        )
        for flag in ("required", "recursive", "repository")
    ),
    (
        annotated(arg("p", "read-path", codec="comma")),
        annotated(arg("p", "read-path")),
        'not the codec "comma"',
    ),
    (
        annotated(arg("b", "read-path"), arg("p", "read-path", relative_to="b")),
        annotated(arg("b", "read-path"), arg("p", "read-path")),
        "not the relative_to",
    ),
    (
        annotated(arg("/f/*/p", "write-path")),
        annotated(arg("f", "none")),
        "loses the role write-path",
    ),
]


@pytest.mark.parametrize(("old", "new", "said"), WEAKER)
def test_what_is_weaker(old: Annotations, new: Annotations, said: str) -> None:
    (reason,) = reasons(old, new)
    assert said in reason
    assert reasons(new, old) == [] or new.servers["s"].tools[0].args == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (annotated(BOTH), annotated(BOTH)),
        (annotated(arg("p", "none")), annotated(arg("p", "read-path"))),
        (annotated(arg("gone", "read-path")), annotated()),
        (annotated(arg("f", "read-path")), annotated(arg("/f/*", "read-path"))),
        (annotated(arg("p", "read-path")), annotated(arg("p", "read-path"), comment="c")),
        (annotated(arg("owner", "repository"), arg("repo", "none")), annotated(*OWNER, **JOINED)),
    ],
)
def test_what_is_not(old: Annotations, new: Annotations) -> None:
    assert reasons(old, new) == []


def test_a_person_confirms_one_annotation_and_no_other() -> None:
    old, new = annotated(arg("p", "read-path")), annotated(arg("p", "none"))
    (error,) = unconfirmed_weakenings(old, new, Confirmations())
    assert isinstance(error, UnconfirmedAnnotationError)
    entry = {**json.loads(error.hint.split("yaml: ")[1]), "by": "kim", "reason": "r"}
    assert entry["annotation"] == annotation_digest(new.servers["s"].tools[0])
    word = Confirmations.model_validate_json(json.dumps({"confirmed": [entry]}))
    assert unconfirmed_weakenings(old, new, word) == []
    worse = annotated(arg("p", "none"), side_effects=False)
    assert len(unconfirmed_weakenings(old, worse, word)) == 1


def test_contained_that_a_person_confirmed_is_confirmed() -> None:
    old, new = annotated(arg("p", "read-path")), annotated(arg("p", "read-path"), contained=True)
    entry = {"server": "s", "tool": "t", "contained": True, "schema_digest": DIGEST, "by": "k", "reason": "r"}
    word = Confirmations.model_validate_json(json.dumps({"confirmed": [entry]}))
    assert unconfirmed_weakenings(old, new, word) == []
    assert len(unconfirmed_weakenings(old, new, Confirmations())) == 1


def listed(name: str = "t", description: str = "d", **schema: JsonValue) -> Tools:
    return {
        "s": ListedServer(
            (ToolListing.of({"name": name, "description": description, "inputSchema": schema}),)
        )
    }


def test_drift_is_told() -> None:
    (pinned,) = listed(type="object")["s"]
    old = annotated(input_schema={"type": "object"}, schema_digest=tool_digest(pinned))
    assert drift_notes(old, listed(description="e", type="object")) == [
        's: the description of "t" changed since it was annotated'
    ]
    assert drift_notes(old, listed(description="e", type="object", x=1)) == [
        's: the description and schema of "t" changed since it was annotated'
    ]
    assert drift_notes(old, listed("u", type="object")) == [
        "s: tools that are new: u",
        "s: tools that are gone: t",
    ]
    assert drift_notes(old, listed(type="object")) == []
