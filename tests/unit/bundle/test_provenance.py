from __future__ import annotations

import hashlib
import json
from pathlib import Path

import jsonschema
import pytest
from support.projects.shipped import GENERATED, ROOT
from support.projects.shipped import bundle as by_hand

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.provenance import provenance_of, statement
from ironcurtain.errors import BundleIntegrityError
from ironcurtain.system import json_text

SHIPPED = Bundle.read(GENERATED / "bundle.tar.gz")
PUBLISHED = json.loads((GENERATED / "provenance.json").read_text())


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_published_statement_says_what_the_manifest_says() -> None:
    archives = {"bundle.tar.gz": (GENERATED / "bundle.tar.gz").read_bytes()}
    about = statement(SHIPPED, archives).model_dump(mode="json", by_alias=True)
    assert json_text.pretty(about) == (GENERATED / "provenance.json").read_text()


def test_it_is_an_in_toto_statement_about_the_archive() -> None:
    assert PUBLISHED["_type"] == "https://in-toto.io/Statement/v1"
    assert set(PUBLISHED) == {"_type", "subject", "predicateType", "predicate"}
    digest = {"sha256": sha256(GENERATED / "bundle.tar.gz")}
    assert PUBLISHED["subject"] == [{"name": "bundle.tar.gz", "digest": digest}]
    jsonschema.validate(PUBLISHED, json.loads((ROOT / "schemas" / "provenance.json").read_text()))


def test_what_it_names_can_be_checked_with_other_tools() -> None:
    predicate = PUBLISHED["predicate"]
    digests = {
        each["name"]: each["digest"]["sha256"]
        for each in predicate["buildDefinition"]["resolvedDependencies"]
    }
    written = {"constitution.md", "scenarios.yaml", "confirmations.yaml"}
    assert set(digests) == {"constitution", "prompts", "scenarios", "tools", *written, "ironcurtain.toml"}
    assert {name: digests[name] for name in written} == {name: sha256(ROOT / name) for name in written}
    assert digests["constitution"] == sha256(ROOT / "constitution.md")
    assert digests["scenarios"] == sha256(GENERATED / "test-scenarios.json")
    scenarios = json.loads((GENERATED / "test-scenarios.json").read_text())["scenarios"]
    assert predicate["checks"]["scenarios"] + predicate["checks"]["records"] == len(scenarios)
    assert predicate["revision"] == SHIPPED.revision
    assert predicate["answeredBy"] == ["manual"]
    assert predicate["buildDefinition"]["externalParameters"] == {"serial": SHIPPED.serial}
    version = predicate["runDetails"]["builder"]["version"]
    assert version["opa"] == SHIPPED.manifest.metadata.engine_version
    assert set(version) == {"ironcurtain", "opa"}


def test_where_a_bundle_came_from_is_no_part_of_its_revision() -> None:
    origin = provenance_of(SHIPPED)
    moved = SHIPPED.with_provenance(origin.model_copy(update={"answered_by": ("somebody:else",)}))
    assert moved.revision == SHIPPED.revision
    assert moved.archive() != SHIPPED.archive()
    assert provenance_of(moved).answered_by == ("somebody:else",)


def test_a_bundle_of_rules_by_hand_has_none() -> None:
    with pytest.raises(BundleIntegrityError, match="does not say"):
        provenance_of(by_hand())
