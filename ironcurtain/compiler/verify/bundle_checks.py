"""What OPA itself says about a bundle: it compiles strictly, fits the input schema, and its tests pass."""

from __future__ import annotations

import re
from functools import partial

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.revision import is_test
from ironcurtain.compiler.render.input_schema import policy_input_schema
from ironcurtain.compiler.render.render import SCHEMA
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand, RegoReport
from ironcurtain.errors import VerificationError, raise_all
from ironcurtain.system import json_text
from ironcurtain.system.background import beside
from ironcurtain.system.private_runtime import private_directory
from ironcurtain.system.text import visible

_TEST_RULE = re.compile(r"^test_\w+", re.MULTILINE)


def check_bundle(bundle: Bundle, registry: Registry, opa: OpaCommand) -> RegoReport:
    """Check and test a bundle with OPA; return the report of its Rego tests.

    The count of tests is held against the count of test rules in the text: OPA leaves out what it does
    not take for a test, and a test that never ran proves nothing.

    Raises:
        RegoRejectedError: If OPA rejects a module.
        VerificationError: If a test fails, or there are no tests.
        EngineFailedError: If OPA does not answer.
    """
    with private_directory("work") as place:
        directory = place / "bundle"
        schema = place / "schemas" / f"{SCHEMA}.json"
        bundle.write_directory(directory)
        schema.parent.mkdir()
        schema.write_text(json_text.pretty(policy_input_schema(registry)), encoding="utf-8")
        with beside(partial(opa.test, directory)) as testing:
            opa.check(directory, bundle=True, schemas=schema.parent)
            report = testing.result()
    raise_all([VerificationError(f"the Rego test {visible(t.name)} {t.outcome}") for t in report.failures])
    written = sum(len(_TEST_RULE.findall(text)) for path, text in bundle.modules.items() if is_test(path))
    if written == 0:
        raise VerificationError("the bundle has no Rego tests, which proves nothing")
    if len(report.tests) != written:
        raise VerificationError(f"{written} Rego tests are written, but OPA ran {len(report.tests)}")
    return report
