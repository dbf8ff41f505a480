"""Each example of docs/syntax.md and syntax_examples.md, built by `ironcurtain bundle`, decided by OPA."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest
from e2e.program import ROOT, Ended, in_process

from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.model.annotations import Argument, Codec, IdentifierRole, ToolAnnotation
from ironcurtain.model.conditions import ArgCondition, FactOperator, If
from ironcurtain.settings import load_settings
from ironcurtain.system.files import load

PAGE = ROOT / "docs" / "syntax.md"
PARTS = re.compile(r"^```(?P<language>\w+)\n(?P<text>[\s\S]*?)^```$|^\| (?P<row>`\{.*) \|$", re.MULTILINE)


@dataclass
class Example:
    """A block of a page, the rows of the table below it, and what the build says to it."""

    language: str
    text: str
    rows: list[list[str]] = field(default_factory=list)
    error: str = ""

    @property
    def document(self) -> Any:
        return json.loads(self.text)

    @property
    def rules(self) -> list[dict[str, Any]]:
        return self.document if isinstance(self.document, list) else [self.document]

    @property
    def is_tool(self) -> bool:
        return self.language == "json" and "tool" in self.document

    @property
    def declares_facts(self) -> bool:
        return self.language == "json" and not self.error and "facts" in self.document


def read(page: Path) -> list[Example]:
    found: list[Example] = []
    for part in PARTS.finditer(page.read_text()):
        if part["row"]:
            found[-1].rows.append([cell.strip() for cell in part["row"].split(" | ")])
        elif part["language"] == "text":
            found[-1].error = part["text"].strip()
        else:
            found.append(Example(part["language"], part["text"]))
    return found


ORDER, *EXAMPLES = read(Path(__file__).with_name("syntax_examples.md"))
SHOWN = read(PAGE)
SETTINGS = [tomllib.loads(e.text) for e in EXAMPLES if e.language == "toml" and not e.error]
(ROLES,) = (settings["roles"] for settings in SETTINGS if "roles" in settings)
(CALLER,) = (settings["caller"] for settings in SETTINGS if "caller" in settings)
FACTS = {name: fact for e in EXAMPLES if e.declares_facts for name, fact in e.document["facts"].items()}
GOOD = [e for e in [*EXAMPLES, *SHOWN] if e.language == "json" and not e.error and not e.declares_facts]
BAD = [e for e in EXAMPLES if e.error]
LOOKUP = {
    "tool": "get_order",
    "side_effects": False,
    "reads": True,
    "args": [{"name": "id", "roles": ["none"]}],
}
"""The tool that looks up the record which the examples declare."""


def build(directory: Path, examples: list[Example]) -> Ended:
    """Build a bundle in which each example has a server of its own, `shop0`, `shop1`, …"""
    rules, servers = [], {}
    for number, example in enumerate(examples):
        name = f"shop{number}"
        servers[name] = {"tools": [example.document if example.is_tool else ORDER.document]}
        rules += [
            {**rule, "name": f"{rule['name']}-{number}", "if": {**rule["if"], "server": [name]}}
            for rule in ([] if example.is_tool else example.rules)
        ]
    servers["shop"] = {"tools": [LOOKUP, ORDER.document]}
    annotations = {"format": "ironcurtain/annotations/v1", "roles": ROLES, "servers": servers}
    policy = {"format": "ironcurtain/policy/v1", "facts": FACTS, "caller": CALLER, "rules": rules}
    (directory / "policy.json").write_text(json.dumps(policy))
    (directory / "annotations.json").write_text(json.dumps(annotations))
    files = ("--policy", "policy.json", "--annotations", "annotations.json")
    return in_process("bundle", *files, "-o", "out", cwd=directory)


def test_each_rule_decides_and_each_annotation_finds_what_its_table_says(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "work").mkdir(parents=True)
    ended = build(tmp_path, GOOD)
    assert ended.code == 0, ended.err
    asked = [(number, row) for number, example in enumerate(GOOD) for row in example.rows]
    (tmp_path / "calls").write_text("\n".join(_call(number, row) for number, row in asked))
    options = ("--bundle", "out", "--home", str(home), "--sandbox", str(home / "work"))
    decided = in_process("decide", *options, "--batch", "calls", cwd=tmp_path)
    answers = [json.loads(line) for line in decided.out.splitlines()]
    told = [_told(GOOD[number], answer, home) for (number, _), answer in zip(asked, answers, strict=True)]
    wrong = [(*row, was) for (_, row), was in zip(asked, told, strict=True) if row[-1] != was]
    assert wrong == []


def _call(number: int, row: list[str]) -> str:
    arguments, *known = (json.loads(cell.strip("`")) for cell in row[:-1])
    document = GOOD[number].document
    tool = document["tool"] if GOOD[number].is_tool else "order"
    beside = dict(zip(("caller", "facts"), known, strict=False))
    return json.dumps({"server": f"shop{number}", "tool": tool, "arguments": arguments, **beside})


def _told(example: Example, decision: dict[str, Any], home: Path) -> str:
    """Return a decision as the tables have it."""
    if not example.is_tool:
        return str(decision["verdict"])
    if decision["rule"].startswith("structural-"):
        return f"refused: `{decision['rule']}`"
    found = {f"{each['role']} {each['value']}".replace(str(home), "~") for each in decision["subjects"]}
    return ", ".join(f"`{each}`" for each in sorted(found))


@pytest.mark.parametrize("example", BAD, ids=lambda example: re.sub(r"\W+", "-", example.error)[:60])
def test_each_mistake_is_told_in_the_words_of_its_example(example: Example, tmp_path: Path) -> None:
    if example.language == "json":
        said = build(tmp_path, [example]).err.replace("shop0", "shop").replace('-0"', '"')
    else:
        name = {"toml": "ironcurtain.toml", "yaml": "confirmations.yaml"}[example.language]
        (tmp_path / name).write_text(example.text)
        (tmp_path / "constitution.md").write_text("- Nothing.\n")
        (tmp_path / "mcp-servers.json").write_text('{"mcpServers": {"shop": {"tools": "shop.json"}}}')
        (tmp_path / "scenarios.yaml").write_text("format: ironcurtain/scenarios/v1\nscenarios: []\n")
        said = in_process("compile", "--locked", cwd=tmp_path).err
    assert example.error in said


def test_the_examples_of_settings_and_confirmations_are_read(tmp_path: Path) -> None:
    declared = "\n".join(e.text for e in EXAMPLES if e.language == "toml" and not e.error)
    (tmp_path / "ironcurtain.toml").write_text(declared)
    (role,) = load_settings(tmp_path / "ironcurtain.toml").roles
    assert set(IdentifierRole.model_fields) == set(role.model_dump())
    (tmp_path / "confirmations.yaml").write_text(next(e.text for e in EXAMPLES if e.language == "yaml"))
    confirmed = load(tmp_path / "confirmations.yaml", Confirmations)
    assert (len(confirmed.confirmed), len(confirmed.rules)) == (3, 2)


def test_the_page_declares_what_the_examples_declare() -> None:
    declared = [e.text for e in SHOWN if e.language == "toml" or e.declares_facts]
    assert len(declared) == 2
    assert not [text for text in declared if not any(text in e.text for e in EXAMPLES)]


def test_a_confirmation_is_what_the_annotations_wait_for(tmp_path: Path) -> None:
    tool = {
        "name": "order",
        "description": "Orders of the shop in Rome.",
        "inputSchema": {"type": "object", "properties": {"file_name": {"type": "string"}}},
    }
    (tmp_path / "shop.json").write_text(json.dumps({"tools": [tool]}))
    (tmp_path / "mcp-servers.json").write_text('{"mcpServers": {"shop": {"tools": "shop.json"}}}')
    (tmp_path / "ironcurtain.toml").write_text('model = "manual"\n')
    assert in_process("annotate", "--saved-tools", cwd=tmp_path).codes == ["IC4001"]
    entry = {"tool": "order", "side_effects": True, "contained": False, "comment": ""}
    content = {"tools": [{**entry, "args": [{"name": "file_name", "roles": ["none"]}]}]}
    (tmp_path / "questions" / "annotate-shop-1.answer.json").write_text(json.dumps(content))
    open_ = in_process("annotate", "--saved-tools", cwd=tmp_path)
    assert open_.codes == ["IC1102"], open_.err
    (digest,) = set(re.findall(r"sha256:[0-9a-f]{64}", open_.err))
    text = next(e.text for e in EXAMPLES if e.language == "yaml").replace(f"sha256:{1:064}", digest)
    (tmp_path / "confirmations.yaml").write_text(text)
    confirmed = in_process("annotate", "--saved-tools", cwd=tmp_path)
    assert confirmed.code == 0, confirmed.err


def test_there_is_an_example_of_every_construct() -> None:
    shown = "\n".join(example.text for example in [ORDER, *EXAMPLES] if not example.error)
    conditions = {field.alias or name for name, field in If.model_fields.items()}
    flags = {*Argument.model_fields} - {"pii"}
    tool = {"tool", "side_effects", "contained", "args", "composites"}
    assert tool <= {*ToolAnnotation.model_fields}
    for key in conditions | flags | tool | {*ArgCondition.model_fields} | {"or_none", "when", "default"}:
        assert f'"{key}"' in shown, key
    for operator in (each for alternative in get_args(FactOperator) for each in get_args(alternative)):
        assert f'"op": "{operator}"' in shown, operator
    for codec in get_args(Codec):
        assert f'"codec": "{codec}"' in shown, codec
    for key in IdentifierRole.model_fields:
        assert f"\n{key} = " in shown, key
