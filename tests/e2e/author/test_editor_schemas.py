"""What an editor checks while somebody types: each file names a schema that is there and knows its shape."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from e2e.program import ROOT, Inside
from fixtures.tiny_project import tree
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from ironcurtain.compiler.load.init import SCHEMAS, WRITTEN_BY_PEOPLE
from ironcurtain.model.lists import Lists
from ironcurtain.servers.config_model import Servers
from ironcurtain.system.files import load

MODELINE = {
    ".yaml": re.compile(r"\A# yaml-language-server: \$schema=(\S+)$", re.MULTILINE),
    ".toml": re.compile(r"\A#:schema (\S+)$", re.MULTILINE),
    ".json": re.compile(r'\A\{\s*"\$schema": "([^"]+)"'),
}
SHIPPED = {
    "scenarios.yaml": "scenarios",
    "guarantees.yaml": "guarantees",
    "confirmations.yaml": "confirmations",
    "mcp-servers.json": "servers",
    "ironcurtain.toml": "settings",
    "generated/tool-annotations.json": "annotations",
    "generated/compiled-policy.json": "policy",
    "examples/office/dynamic-lists.json": "lists",
    "examples/office/scenarios.yaml": "scenarios",
}


def content(path: Path) -> Any:
    text = path.read_text()
    if path.suffix == ".toml":
        return tomllib.loads(text)
    return json.loads(text) if path.suffix == ".json" else YAML(typ="safe", pure=True).load(text)


def schema(name: str) -> Draft202012Validator:
    document = json.loads((ROOT / "schemas" / f"{name}.json").read_text())
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)


@pytest.mark.parametrize("beside_servers", [False, True])
def test_what_init_writes_names_a_schema_that_it_keeps(
    beside_servers: bool, tmp_path: Path, inside: Inside
) -> None:
    named = {"scenarios.yaml", "ironcurtain.toml", "mcp-servers.json"}
    if beside_servers:
        (tmp_path / "mcp-servers.json").write_text('{"mcpServers": {"notes": {"command": "notes"}}}')
        named.remove("mcp-servers.json")
    assert inside("init", cwd=tmp_path).code == 0
    for name in named:
        path = tmp_path / name
        found = MODELINE[path.suffix].search(path.read_text())
        assert found is not None, name
        checked = Draft202012Validator(json.loads((path.parent / found[1]).read_text()))
        assert [error.message for error in checked.iter_errors(content(path))] == []


def test_a_schema_of_another_version_is_replaced(tmp_path: Path, inside: Inside) -> None:
    inside("init", cwd=tmp_path)
    before = tree(tmp_path)
    (tmp_path / SCHEMAS / "scenarios.json").write_text("{}")
    ended = inside("init", cwd=tmp_path)
    assert "wrote  .ironcurtain/schemas (1 JSON Schema," in ended.out
    assert tree(tmp_path) == before


@pytest.mark.parametrize(("file", "name"), SHIPPED.items())
def test_shipped_files_fit_the_schema_of_their_kind(file: str, name: str) -> None:
    assert [error.message for error in schema(name).iter_errors(content(ROOT / file))] == []


@pytest.mark.parametrize("name", WRITTEN_BY_PEOPLE)
def test_a_key_that_is_none_is_seen(name: str) -> None:
    if name == "servers":
        return  # that file is shared with other programs, whose keys are not ours to judge
    errors = [error.message for error in schema(name).iter_errors({"scenarois": []})]
    assert any("scenarois" in error for error in errors)


def test_a_document_may_name_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "lists.json"
    path.write_text('{"$schema": "x.json", "format": "ironcurtain/lists/v1", "lists": {}}')
    assert load(path, Lists).lists == {}
    path.write_text('{"$schema": "x.json", "mcpServers": {}}')
    assert load(path, Servers).model_extra == {}


def test_a_list_that_is_changed_still_names_its_schema(tmp_path: Path, inside: Inside) -> None:
    named = {"$schema": "./.ironcurtain/schemas/lists.json", "format": "ironcurtain/lists/v1", "lists": {}}
    (tmp_path / "ironcurtain.toml").write_text('model = "manual"\n')
    (tmp_path / "dynamic-lists.json").write_text(json.dumps(named))
    ended = inside("lists", "add", "hosts", "example.org", "--type", "domain", cwd=tmp_path)
    assert ended.code == 0, ended.err
    written = json.loads((tmp_path / "dynamic-lists.json").read_text())
    assert written["$schema"] == named["$schema"]
    assert written["lists"]["hosts"]["added"] == ["example.org"]


def test_a_mistake_in_json_has_its_line(tmp_path: Path, inside: Inside) -> None:
    (tmp_path / "mcp-servers.json").write_text('{"mcpServers": {\n  "a": {"command": "x",, }\n}}')
    ended = inside("init", cwd=tmp_path)
    assert "--> mcp-servers.json:2:24" in ended.err
    assert '   |   "a": {"command": "x",, }' in ended.err
