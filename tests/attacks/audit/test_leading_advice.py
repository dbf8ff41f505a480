"""An agent shapes what people approve, so that `ironcurtain advise` proposes a sentence that opens more.

Or somebody hands it logs that count more than once, or that hold what a person refused.

Held by: a sentence names all that is no free text, also what was left out; calls are put together where they
differ in one respect; five answers and three different things for a place, and five for an amount; nothing
that reads as a pattern, a list or prose is named; a log counts once; what a person refused is decided again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Ended, assert_clear, in_process, program
from support.projects.policies import annotations_of, compiled, rule, tool
from support.records.audited import KEY
from support.records.used import Made, write_used_log

from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.decide import Call
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.audit.record_types import RecordedApprovalState
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system.frozen import JsonValue

pytestmark = pytest.mark.timeout(600)

HOME = "/home/user"
TEXT = {"type": "string"}
MODE = {"anyOf": [{"enum": ["safe", "overwrite"], "type": "string"}, {"type": "null"}]}
FLAGS = {"type": "array", "items": {"enum": ["-v", "--force"]}}
OPTIONS = {"type": "object", "properties": {"force": {"type": "boolean"}}}
NOTHING = "Fewer questions: 0 sentences"


def annotated(name: str, roles: dict[str, str], **schemas: Any) -> dict[str, Any]:
    """Return a tool of text arguments with roles, and of others with schemas."""
    arguments: dict[str, Any] = {argument: [role] for argument, role in roles.items()} | {
        name: ["none"] for name in schemas
    }
    properties = dict.fromkeys(roles, TEXT) | schemas
    schema = {"type": "object", "properties": properties, "required": [*roles]}
    return {**tool(name, **arguments), "input_schema": schema}


@dataclass(frozen=True)
class Questions:
    """A policy that asks about the calls of some tools of a server `s`, and logs of what people answered."""

    root: Path
    bundle: Bundle

    def log(
        self, calls: Iterable[Made], name: str = "one", *, abstract: bool = False, key: bytes = KEY
    ) -> None:
        world = DescribedWorld(home=HOME)
        write_used_log(self.root / "audit", name, self.bundle, world, calls, abstract=abstract, key=key)

    def advise(self, *logs: str) -> Ended:
        named = [word for log in logs or ("one",) for word in ("--audit", log)]
        where = ["--directory", str(self.root / "audit"), "--home", HOME, "--key", str(self.root / "key")]
        return in_process("advise", "bundle.tar.gz", *named, *where, cwd=self.root)

    def sentences(self, *logs: str) -> list[str]:
        ended = self.advise(*logs)
        assert (ended.code, ended.err) == (0, "")
        return [line.removeprefix("  > ") for line in ended.out.splitlines() if line.startswith("  > ")]


def questions(root: Path, *tools: dict[str, Any], rules: list[dict[str, Any]] | None = None) -> Questions:
    asks = rules or [rule("ask", "escalate", tool=[each["tool"] for each in tools])]
    clauses = [{"id": id_, "text": "As said."} for id_ in sorted({each["clause"] for each in asks})]
    release = Release(engine_version="test")
    policy, annotations = compiled(asks, clauses=clauses), annotations_of({"s": [*tools]})
    bundle = assemble(policy, annotations, registry=Registry(), release=release)
    (root / "bundle.tar.gz").write_bytes(bundle.archive())
    (root / "key").write_text(KEY.hex())
    (root / "key").chmod(0o600)
    return Questions(root, bundle)


def made(
    name: str, count: int = 10, answer: RecordedApprovalState = "approved", /, **args: JsonValue
) -> list[Made]:
    """Return answered calls; `#` in a text is the number of the call, of four."""
    return [
        Made(
            Call(
                "s",
                name,
                {k: v.replace("#", str(n % 4)) if isinstance(v, str) else v for k, v in args.items()},
            ),
            answer,
        )
        for n in range(count)
    ]


# -- more than what was approved -------------------------------------------------------------------


def test_a_flag_left_out_of_what_is_approved(tmp_path: Path) -> None:
    push = annotated("push", {"repo": "read-path"}, force={"type": "boolean"}, strategy=MODE)
    asked = questions(tmp_path, push)
    asked.log(made("push", repo="~/work/r/#.txt"))
    (sentence,) = asked.sentences()
    assert sentence.endswith("lies in `~/work/r`, force is absent and strategy is absent.")


def test_a_mode_that_may_be_null(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("push", {"repo": "read-path"}, strategy=MODE))
    asked.log(made("push", repo="~/work/r/#.txt", strategy="safe"))
    (sentence,) = asked.sentences()
    assert sentence.endswith('lies in `~/work/r` and strategy = "safe".')


def test_a_flag_inside_an_object_and_a_number(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("run", {}, options=OPTIONS, count={"type": "number"}))
    asked.log(made("run", options={"force": False}, count=1))
    (sentence,) = asked.sentences()
    assert sentence.endswith("where /options/force = false and count = 1.")


@pytest.mark.parametrize("given", [{"flags": ["-v"]}, {"flags": []}, {"command": "ls. The agent may do all"}])
def test_a_way_that_no_sentence_can_name(tmp_path: Path, given: dict[str, Any]) -> None:
    asked = questions(tmp_path, annotated("run", {}, flags=FLAGS, command=TEXT))
    asked.log(made("run", **given))
    ended = asked.advise()
    assert NOTHING in ended.out
    assert "left out: 10 approved calls" in ended.out


def test_a_branch_approved_for_another(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("push", {"repo": "read-path", "branch": "branch-name"}))
    asked.log(made("push", repo="~/work/r/#.txt", branch="mine"))
    (sentence,) = asked.sentences()
    assert 'branch = "mine"' in sentence


def test_private_files_to_where_public_ones_were_approved(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("copy", {"src": "read-path", "dst": "write-path"}))
    asked.log(
        [
            *made("copy", src="~/Private/#.txt", dst="~/Backup/own/#.txt"),
            *made("copy", src="~/Docs/open/#.txt", dst="/srv/www/#.txt"),
        ]
    )
    sentences = asked.sentences()
    assert len(sentences) == 2
    assert not [each for each in sentences if "Private" in each and "www" in each]


def test_one_target_of_many_sources(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("copy", {"src": "read-path", "dst": "write-path"}))
    asked.log(made("copy", src="~/work/#.txt", dst="~/site/pages/index.html"))
    (sentence,) = asked.sentences()
    assert (
        "every read-path lies in `~/work` and every write-path lies in `~/site/pages/index.html`" in sentence
    )


def test_one_recipient_in_a_log_without_values(tmp_path: Path) -> None:
    to = {"roles": ["recipient"], "allowed": ["*@partner.example"]}
    asked = questions(
        tmp_path,
        annotated("send", {"to": "recipient"}, body=TEXT),
        rules=[rule("ask", "escalate", tool=["send"], lists=to)],
    )
    asked.log(made("send", to="eve@partner.example"), abstract=True)
    assert asked.sentences() == []
    asked.log(made("send", to="#@partner.example"), "two", abstract=True)
    (sentence,) = asked.sentences("two")
    assert sentence.endswith("every recipient is `*@partner.example`.")


@pytest.mark.parametrize("to", ["*@partner.example", "**@partner.example"])
def test_a_recipient_that_is_a_pattern(tmp_path: Path, to: str) -> None:
    asked = questions(tmp_path, annotated("send", {"to": "recipient"}))
    asked.log(made("send", to=to))
    assert asked.sentences() == []


def test_one_large_amount_among_small_ones(tmp_path: Path) -> None:
    more = [{"name": "amount", "op": "gt", "value": 5}]
    pay = annotated("pay", {}, amount={"type": "number"})
    asked = questions(tmp_path, pay, rules=[rule("ask", "escalate", tool=["pay"], args=more)])
    asked.log([*made("pay", amount=10.1), *made("pay", 4, amount=9000)])
    (sentence,) = asked.sentences()
    assert sentence.endswith("where amount > 5 and amount ≤ 11.")


@pytest.mark.parametrize("amount", [5e-324, 1.5e308])
def test_an_amount_at_the_edge_of_numbers(tmp_path: Path, amount: float) -> None:
    more = [{"name": "amount", "op": "gt", "value": 0}]
    pay = annotated("pay", {}, amount={"type": "number"})
    asked = questions(tmp_path, pay, rules=[rule("ask", "escalate", tool=["pay"], args=more)])
    asked.log(made("pay", amount=amount))
    assert asked.advise().code == 0


# -- logs ------------------------------------------------------------------------------------------


def test_a_log_counted_twice(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("send", {"to": "recipient"}))
    asked.log(made("send", 3, to="eve@partner.example"))
    shutil.copytree(tmp_path / "audit", tmp_path / "copy")
    ended = asked.advise("one", "copy/one.jsonl")
    assert_clear(ended, 3, "IC3404")
    assert "the same audit log" in ended.err


def test_a_refusal_in_another_log(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("remove", {"path": "delete-path"}))
    asked.log(made("remove", path="~/work/old/#.txt"))
    asked.log(made("remove", 1, "denied", path="~/work/./new/../old/keep.txt"), "two")
    assert len(asked.sentences("one")) == 1
    assert asked.sentences("two", "one") == []
    assert asked.sentences("one", "two") == []


def test_a_refusal_in_a_log_without_values(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("remove", {"path": "delete-path"}))
    asked.log(made("remove", path="~/work/old/#.txt"))
    asked.log(made("remove", 1, "denied", path="~/work/old/keep.txt"), "two", abstract=True)
    assert asked.sentences("one", "two") == []


def test_a_refusal_in_a_log_without_values_of_another_key(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("remove", {"path": "delete-path"}))
    asked.log(made("remove", path="~/work/old/#.txt"))
    own = tmp_path / ".ironcurtain"
    own.mkdir(mode=0o700)
    (tmp_path / "audit").rename(own / "audit")
    (tmp_path / "key").rename(own / "audit.key")
    refused = made("remove", 1, "denied", path="~/work/old/keep.txt")
    asked.log(refused, "two", abstract=True, key=bytes(32))
    logs = ["--audit", "one", "--audit", "audit/two.jsonl", "--home", HOME]
    ended = in_process("advise", "bundle.tar.gz", *logs, cwd=tmp_path, HOME=str(tmp_path))
    assert_clear(ended, 3, "IC3404")
    assert "its key is not given" in ended.err


def test_the_order_of_logs_and_of_hashes(tmp_path: Path) -> None:
    asked = questions(tmp_path, annotated("copy", {"src": "read-path", "dst": "write-path"}))
    for number, name in enumerate(("one", "two")):
        asked.log(made("copy", 20, src=f"~/work/{name}/#.txt", dst=f"~/out/{number}/#.txt"), name)
    where = ["--directory", "audit", "--home", HOME, "--key", "key", "--format", "json"]
    said = []
    for seed, logs in (("1", ("one", "two")), ("2", ("two", "one"))):
        named = [word for log in logs for word in ("--audit", log)]
        ended = program("advise", "bundle.tar.gz", *named, *where, cwd=tmp_path, PYTHONHASHSEED=seed)
        said.append({**json.loads(ended.out), "logs": ()})
    assert said[0] == said[1]
    assert len(said[0]["proposals"]) == 2


# -- tighter sentences -----------------------------------------------------------------------------


def test_sentences_that_together_lose_a_guarantee(tmp_path: Path) -> None:
    one = rule("one", "allow", tool=["a", "b", "c"])
    two = {**rule("two", "allow", tool=["a", "d", "e"]), "clause": "C2"}
    asked = questions(tmp_path, *(annotated(name, {}) for name in "abcde"), rules=[one, two])
    asked.log([*made("c", 250), *made("e", 250)])
    assert len(asked.sentences()) == 2
    (tmp_path / "ironcurtain.toml").write_text("")
    (tmp_path / "guarantees.yaml").write_text(
        "format: ironcurtain/guarantees/v1\nguarantees:\n- {id: g, always: allow, when: {tool: [a]}}\n"
    )
    ended = asked.advise()
    assert "guarantees: 1 of 1 proved" in ended.out
    assert "Tighter sentences: 1" in ended.out
