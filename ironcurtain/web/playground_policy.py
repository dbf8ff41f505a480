"""Policies that are ready to decide, each with an engine that runs, on machines that a person describes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path

from starlette.requests import ClientDisconnect

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.analysis.explain.explain import Explainer
from ironcurtain.analysis.explain.report import Explanation
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Call, TracedDecision
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.model.facts import fact_types
from ironcurtain.model.scenarios import DescribedWorld, Scenario, ScenarioCall
from ironcurtain.policy import Policy
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.web.playground_scenarios import ScenarioFile

_MACHINES = 4


def _always() -> bool:
    return True


class WarmPolicy:
    """A policy whose engine runs, and that explains calls on machines that are described.

    Args:
        bundle: The bundle.
        machine: The machine that its scenarios assume.
        opa: The OPA executable (default: see `ironcurtain opa which`).

    Raises:
        IronCurtainError: If the policy cannot be loaded there, or the engine does not start.
    """

    def __init__(self, bundle: Bundle, machine: DescribedWorld, opa: Path | None) -> None:
        self.bundle = bundle
        self.loaded = load_described(bundle, machine)
        self._policy = Policy(bundle, self.loaded, opa=opa)
        self._policy.__enter__()  # it ends when nothing refers to it any more, or the command does
        self._explainers: OrderedDict[str, Explainer] = OrderedDict()
        self._turn = threading.Lock()
        self._wanted: Callable[[], bool] = _always

    def explain(
        self,
        call: ScenarioCall,
        machine: DescribedWorld,
        *,
        nearby: bool = True,
        wanted: Callable[[], bool] = _always,
    ) -> Explanation:
        """Decide a call on a machine, and say why it is decided so, and what near it gets further.

        Args:
            call: The call.
            machine: Where it happens.
            nearby: Whether to look for what gets further, which takes many times as long as the decision.
            wanted: Tells, before each decision, whether anybody still waits for the explanation.

        Raises:
            ClientDisconnect: If nobody does.
            ScenarioError: If a fact is not declared or not of its type, or the machine contradicts itself.
            RefusedRootError, BundleRelationError: If the policy's directories cannot lie so.
        """
        with self._turn:
            explainer = self._on(machine)
            facts = self._policy.known_facts(call.facts or {}, call.at)
            asked = Call(call.server, call.tool, call.arguments, call.caller, facts=facts)
            self._wanted = wanted
            return explainer.explain(asked, nearby=nearby)

    def known_of(self, call: ScenarioCall) -> ScenarioCall:
        """Return a call without the facts that this policy does not declare: it could not ask for them."""
        types = fact_types(self.loaded.facts)
        facts: dict[str, JsonValue] = {}
        for name, value in (call.facts or {}).items():
            if not isinstance(value, dict):
                facts |= {name: value} if name in types else {}
            elif fields := {key: each for key, each in value.items() if f"{name}/{key}" in types}:
                facts[name] = fields
        return call.model_copy(update={"facts": facts or None})

    def _on(self, machine: DescribedWorld) -> Explainer:
        key = machine.model_dump_json()
        if key not in self._explainers:
            loaded = load_described(self.bundle, machine)
            decide = partial(self._decide, loaded)
            self._explainers[key] = Explainer(self.bundle, loaded, decide, every_rule=True)
        self._explainers.move_to_end(key)
        while len(self._explainers) > _MACHINES:
            self._explainers.popitem(last=False)
        return self._explainers[key]

    def _decide(self, at: LoadedPolicy, calls: Sequence[Call]) -> list[TracedDecision]:
        """Decide calls one after the other, for as long as somebody waits for the explanation."""
        found: list[TracedDecision] = []
        for call in calls:
            if not self._wanted():
                raise ClientDisconnect
            found += self._policy.decide_traced([call], at=at)
        return found


class Playground(Struct):
    """What the playground decides by.

    Attributes:
        policy: The policy.
        machine: The machine that its scenarios assume.
        known: Its scenarios of one call, which can be opened.
        scenarios: The file that scenarios are appended to; None where the policy belongs to no project.
        older: The policy that it is shown beside; None where none was named.
        called: What the older policy was called.
    """

    policy: WarmPolicy
    machine: DescribedWorld
    known: tuple[Scenario, ...] = ()
    scenarios: ScenarioFile | None = None
    older: WarmPolicy | None = None
    called: str = ""


class OpenPlayground:
    """The playground of policies as they lie on disk, opened anew when they changed.

    Args:
        state: Tells what the files are now, quickly.
        load: Reads them and starts the engines.
    """

    def __init__(self, state: Callable[[], Hashable], load: Callable[[], Playground]) -> None:
        self._state, self._load = state, load
        self._turn = threading.Lock()
        self._known: tuple[Hashable, Playground] | None = None

    def get(self) -> Playground:
        """Return the playground.

        Raises:
            IronCurtainError: If a policy cannot be loaded or an engine does not start.
        """
        with self._turn:
            now = self._state()
            if self._known is None or self._known[0] != now:
                self._known = now, self._load()
            return self._known[1]
