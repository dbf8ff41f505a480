"""The shop example: a policy over records, a budget, working hours and a label, compiled without a model."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from e2e.program import ROOT, Inside
from fixtures.tiny_project import tree

SHOP = ROOT / "examples" / "shop"
BUNDLE = SHOP / "generated" / "bundle"
OWN = {"status": "delivered", "user_id": "ada", "method": "card-ada"}
ADA = {"methods": ["card-ada", "gift-ada"]}
DECLARED = "Declared are: customer, item, now, option, order, private, refunded."
MONEY = {"order_id": "W2", "payment_method_id": "card-ada"}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHOP, tmp_path / "shop"))


def test_it_compiles_again_to_the_same_bytes(shop: Path, inside: Inside) -> None:
    ended = inside("compile", "--locked", cwd=shop)
    assert ended.code == 0, ended.err
    assert tree(shop / "generated") == tree(SHOP / "generated")
    assert "needs-" not in ended.err  # its rules test what these clauses needed


def test_lint_asks_its_rules_once_it_is_compiled(shop: Path, inside: Inside) -> None:
    compiled = inside("lint", "--strict", cwd=shop)
    assert (compiled.code, compiled.out) == (0, "")
    constitution = shop / "constitution.md"
    text = constitution.read_text()
    constitution.write_text(text.replace("within the last 24 hours", "within the last 48 hours"))
    edited = inside("lint", "--strict", cwd=shop)
    assert (edited.code, re.findall(r"\[(needs-\w+)-", edited.out)) == (1, ["needs-clock"])


def test_lint_says_which_sentences_need_which_fact(shop: Path, inside: Inside) -> None:
    shutil.rmtree(shop / "generated")
    ended = inside("lint", cwd=shop)
    needs = re.findall(r"\[needs-(\w+)-", ended.out)
    assert (ended.code, needs) == (0, ["record", "clock", "record", "clock", "record", "state", "state"])


@pytest.mark.parametrize(
    ("tool", "arguments", "facts", "at", "rule"),
    [
        (
            "refund",
            {**MONEY, "amount": 40},
            {"order": OWN, "customer": ADA, "refunded": 100},
            "",
            "shop-refund",
        ),
        (
            "refund",
            {**MONEY, "amount": 40},
            {"order": OWN, "customer": ADA, "refunded": 100.01},
            "",
            "shop-ask-above-budget",
        ),
        (
            "refund",
            {**MONEY, "payment_method_id": "card-blaise", "amount": 4},
            {"order": OWN, "customer": ADA, "refunded": 4},
            "",
            "shop-deny-foreign-method",
        ),
        ("refund", {**MONEY, "amount": 4}, {"customer": ADA, "refunded": 4}, "", "shop-deny-other-orders"),
        (
            "exchange_items",
            {**MONEY, "item_ids": ["a"], "new_item_ids": ["b"]},
            {"order": OWN, "customer": ADA, "option": {"in_stock": True, "other": True}},
            "2026-11-27T15:59:59Z",
            "shop-exchange",
        ),
        (
            "exchange_items",
            {**MONEY, "item_ids": ["a"], "new_item_ids": ["b"]},
            {"order": OWN, "customer": ADA, "option": {"in_stock": True, "other": True}},
            "2026-11-28T10:00:00Z",
            "shop-ask-to-exchange",
        ),
        (
            "exchange_items",
            {**MONEY, "item_ids": ["a"], "new_item_ids": ["b"]},
            {"order": OWN, "customer": ADA, "option": {"in_stock": False, "other": True}},
            "2026-11-27T15:59:59Z",
            "shop-deny-out-of-stock",
        ),
        (
            "send_mail",
            {"user_id": "ada", "subject": "s", "body": "b"},
            {"private": True},
            "",
            "shop-ask-after-notes",
        ),
    ],
)
def test_it_decides_by_facts(
    inside: Inside, tmp_path: Path, tool: str, arguments: Any, facts: Any, at: str, rule: str
) -> None:
    when = ["--at", at] if at else []
    said = ["--caller", '{"sub": "ada"}', "--facts", json.dumps(facts), *when, "--format", "json"]
    place = ["--bundle", str(BUNDLE), "--sandbox", str(tmp_path)]
    ended = inside("decide", *place, *said, "shop", tool, json.dumps(arguments), cwd=tmp_path)
    assert json.loads(ended.out)["rule"] == rule, ended.err


def test_a_line_of_a_batch_with_facts_that_are_none_says_so_and_the_others_are_decided(
    inside: Inside, tmp_path: Path
) -> None:
    mail = {"server": "shop", "tool": "send_mail", "caller": {"sub": "ada"}}
    mail["arguments"] = {"user_id": "ada", "subject": "s", "body": "b"}
    facts: list[dict[str, Any]] = [
        {"facts": {"private": False}},
        {"facts": {"privat": True}},
        {"facts": {"budget": 3}},
        {"facts": {"private": "yes"}},
        {"facts": {"private": True}, "at": "noon"},
        {"facts": {"private": True}},
    ]
    batch = tmp_path / "calls.jsonl"
    batch.write_text(
        "".join(json.dumps({"id": str(n), **mail, **each}) + "\n" for n, each in enumerate(facts))
    )
    place = ["--bundle", str(BUNDLE), "--sandbox", str(tmp_path)]
    ended = inside("decide", *place, "--batch", str(batch), cwd=tmp_path)
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert (ended.code, [each["id"] for each in found]) == (1, ["0", "1", "2", "3", "4", "5"])
    assert [each["verdict"] for each in found] == ["allow", "deny", "deny", "deny", "deny", "escalate"]
    assert {(each["tool"], each["rule"]) for each in found[1:5]} == {
        ("send_mail", "structural-malformed-call")
    }
    assert [each["reason"] for each in found[1:5]] == [
        f"{batch}:2: no fact 'privat' is declared; did you mean 'private'? {DECLARED}",
        f"{batch}:3: no fact 'budget' is declared. {DECLARED}",
        f"{batch}:4: the fact 'private' is of type boolean.",
        f"{batch}:5: `at` 'noon' is no time with its zone, such as 2026-03-02T09:00:00Z.",
    ]


def test_a_command_line_with_a_fact_that_is_none_is_wrong(inside: Inside, tmp_path: Path) -> None:
    place = ["--bundle", str(BUNDLE), "--sandbox", str(tmp_path), "--facts", '{"privat": true}']
    ended = inside("decide", *place, "shop", "cancel_order", '{"order_id": "W1"}', cwd=tmp_path)
    assert (ended.code, ended.out, ended.codes) == (2, "", ["IC1301"])
    assert DECLARED in ended.err


def test_it_says_which_facts_nobody_stated(inside: Inside, tmp_path: Path) -> None:
    call = ["shop", "cancel_order", '{"order_id": "W1"}']
    place = ["--bundle", str(BUNDLE), "--sandbox", str(tmp_path)]
    order = json.dumps({"order": {"status": "pending", "user_id": "ada"}})
    for command in ("decide", "explain"):
        without = inside(command, *place, *call, cwd=tmp_path)
        assert "note: not stated, so not known to the rules that test it: order" in without.err
        stated = inside(command, *place, "--facts", order, *call, cwd=tmp_path)
        assert "not stated" not in stated.err


def test_it_explains_which_other_facts_would_let_a_call_get_further(inside: Inside, tmp_path: Path) -> None:
    placed = {"placed": "2026-11-23T08:30:00Z", "method": "card-ada", "user_id": "ada"}
    call = ["--at", "2026-11-23T12:00:00Z", "shop", "cancel_order", '{"order_id": "W1"}']
    place = ["--bundle", str(BUNDLE), "--sandbox", str(tmp_path), "--caller", '{"sub": "ada"}']

    def explained(status: str, user: str) -> str:
        facts = json.dumps({"order": {**placed, "status": status, "user_id": user}})
        return inside("explain", *place, "--facts", facts, *call, cwd=tmp_path).out

    assert 'The same call, if it were so, each decided just now:\n  allow    order/status = "pending"' in (
        explained("delivered", "ada")
    )
    assert "if it were so" not in explained("pending", "ada"), "it is allowed"
    assert "if it were so" not in explained("delivered", "bob"), "one fact alone does not help"


def test_its_records_are_what_the_policy_declares(tmp_path: Path) -> None:
    """The server's answers have the declared fields, and a change of status is seen by the next look-up."""
    steps = (
        "import shop; a = shop.order('W1'); b = shop.cancel('W1'); c = shop.user(a['user_id']); import json; "
        "print(json.dumps([a, b, c]))"
    )
    ended = subprocess.run(
        [sys.executable, "-B", "-c", steps],
        cwd=SHOP,
        env={"SHOP": str(tmp_path / "shop.sqlite")},
        capture_output=True,
        text=True,
        check=True,
    )
    before, after, customer = json.loads(ended.stdout)
    policy = json.loads((SHOP / "generated" / "compiled-policy.json").read_text())
    for name, answer in {"order": before, "item": before, "customer": customer}.items():
        places = {field["at"].split("/")[1] for field in policy["facts"][name]["fields"].values()}
        assert places <= answer.keys()
    assert (before["status"], after["status"]) == ("pending", "cancelled")
    assert [method["id"] for method in customer["payment_methods"]] == ["card-ada", "gift-ada"]
