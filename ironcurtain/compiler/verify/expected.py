"""What a compile most likely comes to, worked out while its servers start: the published policy once more.

Servers take a second and more to list their tools, and most compiles find the tools that they had found
before. So where the sources are those of the published policy, it is verified and examined meanwhile. What
was published is not believed, it is only guessed to be made again: what is found counts for exactly the
bundle, scenarios and guarantees that it was found of, and for nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path

from ironcurtain.analysis.findings.decided_scenarios import RECORD, DecidedScenarios, decide_all
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.provenance import provenance_of
from ironcurtain.bundle.provenance_model import Source
from ironcurtain.bundle.published import TEST_SCENARIOS
from ironcurtain.bundle.revision import MANIFEST, SIGNATURES
from ironcurtain.compiler.render.policy_tests import TESTS, with_policy_tests
from ironcurtain.compiler.scenarios.generated import call_key
from ironcurtain.compiler.verify.evidence import Evidence
from ironcurtain.compiler.verify.repair import TriedDraft
from ironcurtain.compiler.verify.verify import verify
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.decision import Decision
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.scenarios import ScenarioCall, Scenarios
from ironcurtain.system.background import Once, in_background
from ironcurtain.system.files import load
from ironcurtain.system.structs import Struct


class Expected(Struct):
    """A policy after it was verified and examined.

    Attributes:
        untested: Its bundle without the Rego tests that scenarios are written as.
        demanded: The scenarios that it was verified by.
        evidence: What holds of all calls.
        decided: What it decides of the scenarios, and of the calls that were recorded of it.
    """

    untested: Bundle
    tried: TriedDraft
    demanded: Scenarios
    evidence: Evidence
    decided: DecidedScenarios

    def of(self, untested: Bundle, demanded: Scenarios) -> TriedDraft | None:
        """Return this policy as it was tried, None if bundle or scenarios differ from it in anything."""
        is_same = untested.files == self.untested.files and self.demanded == demanded
        return self.tried if is_same else None

    def is_bundle(self, bundle: Bundle) -> bool:
        """Tell whether a bundle is this one: byte for byte, tests and manifest included."""
        return bundle.files == self.tried.bundle.files

    def evidence_of(
        self, bundle: Bundle, demanded: Scenarios, guarantees: Guarantees | None
    ) -> Evidence | None:
        """Return the evidence of this policy, None if it would be another's."""
        demands = self.demanded, self.evidence.guarantees
        return self.evidence if self.is_bundle(bundle) and demands == (demanded, guarantees) else None

    def decisions(self, bundle: Bundle, calls: Sequence[ScenarioCall]) -> list[Decision] | None:
        """Return what a bundle decides of some calls, in their order; None where that is not known of all."""
        known = self._by_call if self.is_bundle(bundle) else {}
        found = [known[key] for call in calls if (key := call_key(call)) in known]
        return found if len(found) == len(calls) else None

    @cached_property
    def _by_call(self) -> dict[bytes, Decision]:
        """The decisions of calls without stated facts or time, which is what generated calls are."""
        return {
            call_key(scenario.call): self.decided.decisions[scenario.id]
            for scenario in self.decided.scenarios
            if scenario.call.facts is None and scenario.call.at is None
        }


@contextmanager
def expecting(
    output: Path, sources: tuple[Source, ...], guarantees: Guarantees | None, opa: Opa, *, waits: bool
) -> Iterator[Callable[[], Expected | None]]:
    """Examine a published policy in the background, if it was made from the given sources.

    Args:
        output: Where it was published.
        sources: What people wrote for the compile that goes on.
        guarantees: What a policy must keep.
        opa: The engine.
        waits: Whether the compile waits for servers; where it does not, there is no time for that.

    Yields:
        What waits for the result, which is None where nothing is to be expected.
    """
    if not waits:
        yield lambda: None
        return
    work = Once(partial(_expected, output, sources, guarantees, opa))
    with in_background(work):
        yield work


def _expected(
    output: Path, sources: tuple[Source, ...], guarantees: Guarantees | None, opa: Opa
) -> Expected | None:
    try:
        published = Bundle.read(output / "bundle")
        provenance = provenance_of(published)
        if (provenance.sources, provenance.version) != (sources, version("ironcurtain")):
            return None
        return _Draft.of(published, load(output / TEST_SCENARIOS, Scenarios)).examined(guarantees, opa)
    except IronCurtainError:
        return None  # whatever is wrong, the compile finds it in what it makes itself


class _Draft(Struct):
    """A published policy as it was before it was tried.

    Attributes:
        untested: Its bundle without its account of its origin and the tests that scenarios are written as.
        scenarios: All that were published with it.
        demanded: Those of them that demand something.
    """

    untested: Bundle
    scenarios: Scenarios
    demanded: Scenarios

    @classmethod
    def of(cls, published: Bundle, scenarios: Scenarios) -> _Draft:
        kept = {path: data for path, data in published.files.items() if not _is_made_last(path)}
        metadata = published.manifest.metadata.model_copy(update={"provenance": {}})
        entries = tuple(entry for entry in scenarios.entries if entry.origin != RECORD)
        demanded = scenarios.model_copy(update={"entries": entries})
        return cls(Bundle.build(kept, metadata), scenarios, demanded)

    def examined(self, guarantees: Guarantees | None, opa: Opa) -> Expected:
        bundle = with_policy_tests(self.untested, self.demanded, OpaCommand(opa))
        decide = Once(partial(decide_all, bundle, self.scenarios, OpaCommand(opa)))

        def decide_demanded() -> DecidedScenarios:
            return decide().demanded_of(decide().scenarios)

        evidence = Evidence(bundle, self.demanded, guarantees, opa, decide_demanded)
        with in_background(evidence.gathered) as gathering:
            verification = verify(bundle, self.demanded, opa, decide_demanded)
            gathering.result()
        tried = TriedDraft(bundle, verification, decide_demanded)
        return Expected(self.untested, tried, self.demanded, evidence, decide())


def _is_made_last(path: str) -> bool:
    """Tell whether a file of a bundle is made from the rest of it."""
    return path in {MANIFEST, SIGNATURES} or path.endswith(f"/{TESTS}")
