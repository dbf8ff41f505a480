"""From checked rules to a bundle: render, add the library and the data documents, compute the revision.

Everything enforcement needs is in the bundle; `ironcurtain.bundle.content` reads it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.manifest import FORMAT, Metadata
from ironcurtain.compiler.render.custom_modules import CustomModule
from ironcurtain.compiler.render.render import render_policy
from ironcurtain.compiler.rules.checks.patterns import members
from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.canonical.hosts import list_digest
from ironcurtain.decision.canonical.patterns import canonical_pattern
from ironcurtain.decision.canonical.urls import DEFAULT_CASE_INSENSITIVE_HOSTS
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import PatternError
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.facts import conditions_of
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.system import assets, json_text
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct, field

_RARER = {name: f"import data.ironcurtain.{name}\n" for name in ("facts", "operators")}


class Release(Struct):
    """What a bundle says about itself beside its rules.

    Attributes:
        engine_version: The version of OPA that the bundle is checked with.
        serial: The policy's serial number from configuration.
        relations: How the policy's directories lie to one another, as verified.
        case_insensitive_hosts: Hosts on which path segments compare case-folded.
    """

    engine_version: str
    serial: int = 0
    relations: Mapping[str, str] = field(default_factory=dict)
    case_insensitive_hosts: frozenset[str] = DEFAULT_CASE_INSENSITIVE_HOSTS


def assemble(
    policy: CompiledPolicy,
    annotations: Annotations,
    lists: Lists | None = None,
    *,
    registry: Registry,
    release: Release,
    custom: Sequence[CustomModule] = (),
) -> Bundle:
    """Return the bundle of a policy: a pure function of its arguments and of the shipped library.

    Args:
        policy: The rules, valid in shape.
        annotations: The tools, already checked against the registry.
        lists: The named lists.
        registry: The roles, those of `annotations` included.
        release: What the bundle says about itself.
        custom: The project's own modules, checked (`custom.check_modules`).

    Raises:
        RuleError, PatternError, ListError: For each mistake in the rules (several as `SeveralErrors`).
    """
    hosts = release.case_insensitive_hosts
    checked = check_policy(policy, annotations, lists, registry, case_insensitive_hosts=hosts)
    documents: dict[str, JsonSource] = {
        "annotations": annotations.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "lists": _lists_document(lists, registry),
        "patterns": {
            "named": _named_patterns(checked, custom, registry, hosts),
            "case_insensitive_hosts": sorted(hosts),
            "suffixes": list_digest(),
            "relations": dict(release.relations),
        },
        "rules": _rules_document(checked),
    }
    policies = {
        f"{policy_directory(server)}/policy.rego": render_policy(checked, server, annotations)
        for server in annotations.servers
    }
    files = {
        **_library(policies.values()),
        **{module.path: module.text.encode() for module in custom},
        **{path: text.encode() for path, text in policies.items()},
        **{
            f"ironcurtain/{name}/data.json": json_text.pretty(value).encode()
            for name, value in documents.items()
        },
    }
    metadata = Metadata(
        format=FORMAT,
        serial=release.serial,
        engine_version=release.engine_version,
        suffixes=list_digest(),
    )
    return Bundle.build(files, metadata)


def policy_directory(server: str) -> str:
    """Return the directory of a server's package in the bundle.

    Names stay distinct where files are compared without case: `_` becomes `__`, a capital `X` becomes `_x`.
    """
    return "ironcurtain/policy/" + "".join(
        "__" if c == "_" else f"_{c.lower()}" if c.isupper() else c for c in server
    )


def _library(policies: Iterable[str]) -> dict[str, bytes]:
    """Return the hand-written modules; those of rarer tests only where a policy imports them."""
    root = assets.REGO / "ironcurtain"
    found = {path.relative_to(root): path.read_bytes() for path in root.rglob("*.rego")}
    unused = {name for name, line in _RARER.items() if not any(line in text for text in policies)}
    return {
        f"ironcurtain/{path.as_posix()}": content
        for path, content in found.items()
        if path.parts[0] not in unused
    }


def _named_patterns(
    policy: CompiledPolicy, custom: Sequence[CustomModule], registry: Registry, hosts: frozenset[str]
) -> dict[str, list[str]]:
    """Return the patterns that the bundle names, by kind; lists stand in their own document."""
    named: dict[str, set[str]] = {kind: set() for kind in registry.pattern_kinds}
    counted = (condition for _, condition in conditions_of(policy.facts))
    for tested in (*(rule.if_ for rule in policy.rules), *counted):
        for condition in tested.role_conditions:
            for role in condition.roles:
                named[registry[role].pattern_kind] |= {p for p in condition.patterns if not p.startswith("@")}
    for kind, patterns in named.items():
        patterns.update(
            _patterns_among({text for module in custom for text in module.strings}, kind, registry, hosts)
        )
    return {kind: sorted(patterns) for kind, patterns in named.items() if patterns}


def _patterns_among(texts: set[str], kind: str, registry: Registry, hosts: frozenset[str]) -> Iterator[str]:
    for text in texts:
        try:
            if canonical_pattern(kind, text, registry, case_insensitive_hosts=hosts) == text:
                yield text
        except PatternError:
            continue


def _lists_document(lists: Lists | None, registry: Registry) -> dict[str, JsonSource]:
    return {
        name: {"type": named.type, "values": list(members(named, registry))}
        for name, named in (lists.lists if lists else {}).items()
    }


def _rules_document(policy: CompiledPolicy) -> dict[str, JsonSource]:
    return {
        "rules": {
            rule.name: {
                "order": order,
                "clause": rule.clause,
                "then": rule.then.value,
                "reason": rule.reason,
                "description": rule.description,
                **({"approver": rule.approver} if rule.approver else {}),
                # Reports choose their questions by it, and enforcement what must be known of a call.
                "if": rule.if_.model_dump(mode="json", by_alias=True, exclude_defaults=True),
            }
            for order, rule in enumerate(policy.rules, 1)
        },
        "clauses": {
            clause.id: {
                "text": clause.text,
                "source": clause.source,
                **({"principle": True} if clause.principle else {}),
            }
            for clause in policy.clauses
        },
        "claims": [claim.model_dump(mode="json", exclude_defaults=True) for claim in policy.claims],
        **({"approvers": _approvers_document(policy)} if policy.approvers else {}),
        **({"facts": _facts_document(policy)} if policy.facts else {}),
        **({"caller": _caller_document(policy)} if policy.caller else {}),
    }


def _approvers_document(policy: CompiledPolicy) -> dict[str, JsonSource]:
    return {
        name: approver.model_dump(mode="json", exclude_defaults=True)
        for name, approver in policy.approvers.items()
    }


def _caller_document(policy: CompiledPolicy) -> dict[str, JsonSource]:
    return {name: fact.model_dump(mode="json", by_alias=True) for name, fact in policy.caller.items()}


def _facts_document(policy: CompiledPolicy) -> dict[str, JsonSource]:
    return {
        name: fact.model_dump(mode="json", by_alias=True, exclude_unset=True)
        for name, fact in policy.facts.items()
    }
