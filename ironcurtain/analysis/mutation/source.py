"""The rules and lists of a bundle, and bundles of the same policy with other rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.reserved_tools import with_reserved
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import EvidenceError, IronCurtainError
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.conditions import If
from ironcurtain.model.lists import Lists, NamedList
from ironcurtain.model.policy import Clause, CompiledPolicy, Rule
from ironcurtain.model.unknown_facts import reference
from ironcurtain.system.structs import Struct, replace

_REPLACED = ("lists", "patterns", "rules")


class PolicySource(Struct):
    """The policy of a bundle, as its rules were before rendering."""

    bundle: Bundle
    content: PolicyContent
    policy: CompiledPolicy
    lists: Lists
    registry: Registry

    @classmethod
    def of(cls, bundle: Bundle) -> PolicySource:
        """Read the rules and lists of a bundle.

        Raises:
            EvidenceError: If the bundle does not hold its rules' conditions, or what they ask of the caller.
        """
        content = PolicyContent.of(bundle)
        rules = []
        for name, text in sorted(content.rules.items(), key=lambda item: item[1].order):
            if text.if_ is None:
                raise EvidenceError(
                    "the bundle does not hold its rules' conditions", hint="Build it again with this version."
                )
            if _asks_of_caller(text.if_) and not content.caller:
                raise EvidenceError(
                    "the bundle does not say what its rules test of the caller",
                    hint="Declare that in ironcurtain.toml, [caller.NAME], and build the bundle again.",
                )
            words = {"description": text.description, "reason": text.reason, "clause": text.clause}
            asked = {"approver": text.approver} if text.approver else {}
            rules.append(
                Rule.model_validate({"name": name, "if": text.if_, "then": text.then, **words, **asked})
            )
        clauses = tuple(Clause(id=id_, text=text) for id_, text in content.clauses.items())
        policy = CompiledPolicy(
            format="ironcurtain/policy/v1",
            clauses=clauses,
            facts=dict(content.facts),
            caller=dict(content.caller),
            rules=tuple(rules),
            approvers=dict(content.approvers),
        )
        lists = {
            name: NamedList(type="domain" if kind == "url" else kind, resolved=values)
            for name, (kind, values) in content.lists.items()
        }
        named = Lists(format="ironcurtain/lists/v1", lists=lists)
        return cls(bundle, content, policy, named, Registry(content.annotations.roles))

    def asking(self, name: str, fact: CallerFact) -> PolicySource:
        """Return the same source, whose rules may ask one thing more of the caller."""
        caller = {**self.policy.caller, name: fact}
        return replace(self, policy=self.policy.model_copy(update={"caller": caller}))

    def accepts(self, rules: Iterable[Rule], lists: Mapping[str, NamedList]) -> bool:
        """Tell whether the compiler would take rules, each by itself."""
        try:
            check_policy(
                self.policy.model_copy(update={"rules": tuple(rules)}),
                self.content.annotations,
                self._with(lists),
                self.registry,
                case_insensitive_hosts=self.content.case_insensitive_hosts,
            )
        except IronCurtainError:
            return False
        return True

    def opens_tools(self, rules: Iterable[Rule]) -> bool:
        """Tell whether a bundle that is built of other rules lists reserved tools that this one does not."""
        changed = self.policy.model_copy(update={"rules": tuple(rules)})
        return (
            not with_reserved(self.content.annotations, changed).tools().keys() <= self.content.tools.keys()
        )

    def _with(self, lists: Mapping[str, NamedList]) -> Lists:
        return self.lists.model_copy(update={"lists": {**self.lists.lists, **lists}})

    def bundle_of(self, rules: Iterable[Rule], lists: Mapping[str, NamedList]) -> Bundle:
        """Return the bundle with other rules and further lists; the project's own modules stay.

        Raises:
            RuleError, PatternError, ListError: If the rules are not valid.
        """
        release = Release(
            engine_version=self.bundle.manifest.metadata.engine_version,
            serial=self.bundle.serial,
            relations=self.content.relations,
            case_insensitive_hosts=self.content.case_insensitive_hosts,
        )
        made = assemble(
            self.policy.model_copy(update={"rules": tuple(rules)}),
            self.content.annotations,
            self._with(lists),
            registry=self.registry,
            release=release,
        )
        wanted = {f"ironcurtain/{name}/data.json" for name in _REPLACED}
        changed = {path: data for path, data in made.files.items() if path in wanted or _is_policy(path)}
        return self.bundle.with_files(changed)


def _is_policy(path: str) -> bool:
    return path.startswith("ironcurtain/policy/") and path.endswith("/policy.rego")


def _asks_of_caller(condition: If) -> bool:
    tests = (*(condition.args or ()), *(each.test for each in condition.facts or ()))
    referred = (reference(test.value) for test in tests)
    return bool(condition.caller) or any(found is not None and found[0] == "caller" for found in referred)
