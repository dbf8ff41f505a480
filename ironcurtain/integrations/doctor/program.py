"""Is the program itself whole: Python, the packages, the engine, and one decision."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, requires, version

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.engine.locate import find
from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.doctor.report import Diagnosis
from ironcurtain.integrations.doctor.subject import Installation, failed
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import RuleKind, kind_of
from ironcurtain.policy import Policy
from ironcurtain.system.text import counted, visible

_PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?(?:[^;]*?>=\s*([0-9.]+))?[^;]*(?:;(.*))?")


def python(_: Installation) -> Iterator[Diagnosis]:
    """Look at the interpreter."""
    running = sys.version_info[:3]
    shown = ".".join(map(str, running))
    if running < _PYTHON:
        wanted = ".".join(map(str, _PYTHON))
        yield Diagnosis(
            name="python", status="fail", what=f"this is Python {shown}", fix=f"Use Python {wanted} or newer."
        )
    else:
        yield Diagnosis(name="python", status="ok", what=f"Python {shown}")


def packages(_: Installation) -> Iterator[Diagnosis]:
    """Look at the packages that this one needs."""
    yield from check_packages(requires("ironcurtain") or [])


def check_packages(requirements: Iterable[str]) -> Iterator[Diagnosis]:
    """Hold what is installed against requirements as metadata write them; those of extras are optional."""
    wrong = 0
    plain = [requirement for requirement in requirements if "extra ==" not in requirement]
    for requirement in plain:
        found = _REQUIREMENT.match(requirement)
        if found is None:
            continue
        name, least = found.group(1), found.group(2)
        try:
            installed = version(name)
        except PackageNotFoundError:
            what = f"the package {name} is not installed"
        else:
            if least is None or _numbers(installed) >= _numbers(least):
                continue
            what = f"the package {name} is {installed}, and {least} or newer is needed"
        wrong += 1
        fix = f"Run `pip install '{requirement.partition(';')[0].strip()}'`, or install ironcurtain anew."
        yield Diagnosis(name="packages", status="fail", what=what, fix=fix)
    if not wrong:
        what = (
            f"{counted(len(plain), 'package is', 'packages are')} there, ironcurtain {version('ironcurtain')}"
        )
        yield Diagnosis(name="packages", status="ok", what=what)


def engine_program(subject: Installation) -> Iterator[Diagnosis]:
    """Look for OPA."""
    try:
        found = find(subject.opa)
    except IronCurtainError as error:
        if not subject.engine:
            yield from failed("opa", error)
            return
        what = f"{error.what}; the nodes decide, and only compiling needs one here"
        yield Diagnosis(name="opa", status="warn", what=what, fix=error.hint, code=error.code)
    else:
        yield Diagnosis(name="opa", status="ok", what=f"OPA {found.version}, {visible(str(found.path))}")


def decision(subject: Installation) -> Iterator[Diagnosis]:
    """Start an engine as enforcement does, and let it decide one call."""
    servers = subject.servers if subject.servers.exists() else None
    try:
        with Policy.load(
            subject.bundle,
            sandbox=subject.sandbox,
            servers=servers,
            opa=subject.opa,
            verify_key=subject.verify_key,
            expect_revision=subject.expect_revision,
            min_serial=subject.min_serial,
            engine=subject.engine,
            engine_ca=subject.engine_ca,
            engine_token_file=subject.engine_token_file,
        ) as policy:
            decided = _one_decision(policy)
    except IronCurtainError as error:
        yield from failed("engine", error)
        return
    if decided is None:
        yield Diagnosis(
            name="engine", status="warn", what="the engine starts; the policy has no tool to decide about"
        )
    elif kind_of(decided.rule) is RuleKind.ENGINE:
        fix = "Run `ironcurtain opa which`, and verify the bundle: ironcurtain verify BUNDLE."
        yield Diagnosis(name="engine", status="fail", what=decided.reason, fix=fix)
    else:
        what = f"the engine starts and decides: {decided.verdict} by {visible(decided.rule)}"
        yield Diagnosis(name="engine", status="ok", what=what)


def _one_decision(policy: Policy) -> Decision | None:
    """Decide a call without arguments, if possible one that comes as far as the engine."""
    last: Decision | None = None
    for server, annotated in PolicyContent.of(policy.bundle).annotations.servers.items():
        for tool in annotated.tools:
            last = policy.decide(server, tool.tool, {})
            if kind_of(last.rule) is not RuleKind.STRUCTURAL:
                return last
    return last


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:4])
