"""Checking a bundle's Rego: OPA compiles it strictly, against the policy input's shape, and runs its tests.

It loads little, so that OPA can be at work while a command still loads what everything else needs.
"""

from __future__ import annotations

import re
from functools import partial

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.revision import is_test
from ironcurtain.compiler.render.input_schema import SCHEMA, policy_input_schema
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand, RegoReport
from ironcurtain.errors import VerificationError, raise_all
from ironcurtain.system import json_text
from ironcurtain.system.background import in_background
from ironcurtain.system.private_runtime import private_directory
from ironcurtain.system.text import visible

_TEST_RULE = re.compile(r"^test_\w+", re.MULTILINE)


def check_rego(bundle: Bundle, opa: OpaCommand) -> RegoReport:
    """Check and test a bundle with OPA; return the report of its Rego tests.

    The count of tests is held against the count of test rules in the text: OPA leaves out what it does
    not take for a test, and a test that never ran proves nothing.

    Raises:
        RegoRejectedError: If OPA rejects a module.
        VerificationError: If a test fails, or there are no tests.
        EngineFailedError: If OPA does not answer.
    """
    content = PolicyContent.of(bundle)
    with private_directory("work") as place:
        directory = place / "bundle"
        schema = place / "schemas" / f"{SCHEMA}.json"
        bundle.write_directory(directory, durable=False)
        schema.parent.mkdir()
        seen = policy_input_schema(Registry(content.annotations.roles), facts=bool(content.facts))
        schema.write_text(json_text.pretty(seen), encoding="utf-8")
        with in_background(partial(opa.test, directory)) as testing:
            opa.check(directory, bundle=True, schemas=schema.parent)
            report = testing.result()
    raise_all([VerificationError(f"the Rego test {visible(t.name)} {t.outcome}") for t in report.failures])
    written = sum(len(_TEST_RULE.findall(text)) for path, text in bundle.modules.items() if is_test(path))
    if written == 0:
        raise VerificationError("the bundle has no Rego tests, which proves nothing")
    if len(report.tests) != written:
        raise VerificationError(f"{written} Rego tests are written, but OPA ran {len(report.tests)}")
    return report
