"""The playground: a call is put together in a form, and decided while somebody types."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial

from anyio import from_thread
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ironcurtain.analysis.explain.report import Explanation, QuotedClause, Suggestion
from ironcurtain.compiler.scenarios.text import item_text
from ironcurtain.decision.canonical import pointers
from ironcurtain.enforcement.audit.recent import RecentRecords
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.errors import IronCurtainError, UsageError
from ironcurtain.model.scenarios import DescribedWorld, Scenario, ScenarioCall
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text, yaml_text
from ironcurtain.system.files import parse_document
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible
from ironcurtain.web.guard import form_of
from ironcurtain.web.playground_calls import call_of_record, machine_of_record, pasted_call
from ironcurtain.web.playground_form import CallForm, as_json
from ironcurtain.web.playground_policy import OpenPlayground, Playground, WarmPolicy
from ironcurtain.web.playground_scenarios import scenario_of
from ironcurtain.web.rendering import page, refused, said

HERE = "/playground"
_MACHINE_FILE = "machine.yaml"
_NO_TOOL = "The policy knows no such tool."
_NO_SCENARIO = "The policy has no such scenario of one call."
_NO_RECORD = "This decision is none of the newest, so it cannot be opened here."


class Column(Struct):
    """What one policy decides.

    Attributes:
        title: Which policy it is; empty where there is only one.
        explanation: The decision, with what led to it; None where there is none.
        trouble: Why there is none.
    """

    title: str
    explanation: Explanation | None = None
    trouble: str = ""

    @cached_property
    def clauses(self) -> Mapping[str, QuotedClause]:
        """The clauses that the explanation refers to, by id."""
        return {each.id: each for each in self.explanation.clauses} if self.explanation is not None else {}


@dataclass
class PlaygroundPage:
    """What the page shows.

    Attributes:
        form: The fields.
        typed: What stands in them.
        nearby: Whether the page says what near the call gets further; else it is asked for it afterwards.
        columns: What the policies decide.
        opened: The scenario whose call it is; None where it is none's.
        trouble: Why the form says no call.
        kept: What became of keeping the call, in words.
        scenario: The scenario as it would be appended; None where nobody asked for it.
    """

    form: CallForm
    typed: dict[str, str]
    call: ScenarioCall | None = None
    machine: DescribedWorld | None = None
    nearby: bool = True
    columns: list[Column] = field(default_factory=list)
    opened: Scenario | None = None
    trouble: str = ""
    kept: str = ""
    scenario: str | None = None

    @property
    def nearby_follows(self) -> bool:
        """Whether a call that is not allowed was not compared with those near it yet."""
        told = [each.explanation for each in self.columns if each.explanation is not None]
        return not self.nearby and any(not each.decision.allowed for each in told)

    @property
    def scenario_digest(self) -> str:
        """What names the scenario that a person was shown."""
        return json_text.digest(self.scenario)

    def again(self, suggestion: Suggestion) -> str:
        """Return a call near this one as a text that can be loaded."""
        of_call = ScenarioCall(
            server=suggestion.server,
            tool=suggestion.tool,
            arguments=suggestion.arguments,
            caller=suggestion.caller or None,
            facts=self.call.facts if self.call is not None else None,
            at=self.call.at if self.call is not None else None,
        )
        return as_json(of_call.model_dump(mode="json", exclude_none=True))

    def changes(self, suggestion: Suggestion) -> Iterator[str]:
        """Yield what is different in a call near this one."""
        for pointer in suggestion.changed:
            (name,) = pointers.tokens(pointer)
            value = suggestion.arguments.get(name)
            yield f"{visible(name)}: {'left out' if name not in suggestion.arguments else as_json(value)}"


class PlaygroundPages:
    """The form, and what is decided about what stands in it.

    Args:
        opened: The policies; None where none was named.
        records: What the logs hold.
    """

    def __init__(self, opened: OpenPlayground | None, records: RecentRecords) -> None:
        self._opened, self._records = opened, records

    async def begin(self, request: Request) -> Response:
        """Show the empty form of a tool, or that of a recorded call."""
        return await run_in_threadpool(self._begun, request)

    async def decide(self, request: Request) -> Response:
        """Decide what stands in the form, and keep it as a scenario where that is wanted."""
        return await run_in_threadpool(self._decided, request)

    def _begun(self, request: Request) -> Response:
        asked = request.query_params
        playground = self._playground(request)
        if isinstance(playground, Response):
            return playground
        if "id" in asked:
            return self._recorded(request, playground)
        if "call" in asked:
            return self._brought(request, playground, asked["call"])
        if asked.get("scenario"):
            return self._opened_scenario(request, playground, asked["scenario"])
        form = _form(playground, asked.get("tool", next(_tools(playground), "")))
        if form is None:
            return refused(request, 404, _NO_TOOL)
        return _page(request, playground, PlaygroundPage(form, {"machine": machine_text(playground.machine)}))

    def _recorded(self, request: Request, playground: Playground) -> Response:
        asked = request.query_params
        found = self._records.entry(asked.get("session", ""), asked["id"])
        record = found[0].line.record if found is not None else None
        if not isinstance(record, DecisionRecord):
            return refused(request, 404, _NO_RECORD)
        try:
            call = call_of_record(record, playground.policy.bundle)
        except IronCurtainError as error:
            return refused(request, 404, said(error))
        machine = machine_text(machine_of_record(record, playground.machine))
        form = _form(playground, f"{call.server}/{call.tool}")
        if form is None:
            return refused(request, 404, _NO_TOOL)
        return self._answer(
            request, playground, PlaygroundPage(form, form.written(call) | {"machine": machine})
        )

    def _opened_scenario(self, request: Request, playground: Playground, id_: str) -> Response:
        found = next((each for each in playground.known if each.id == id_), None)
        if found is None:
            return refused(request, 404, _NO_SCENARIO)
        return self._of_call(request, playground, found.call, found)

    def _brought(self, request: Request, playground: Playground, text: str) -> Response:
        """Open a call of another page."""
        try:
            call = pasted_call(text)
        except UsageError as error:
            return refused(request, 404, said(error))
        return self._of_call(request, playground, call)

    def _of_call(
        self, request: Request, playground: Playground, call: ScenarioCall, opened: Scenario | None = None
    ) -> Response:
        """Decide a call on the machine that the scenarios assume."""
        form = _form(playground, f"{call.server}/{call.tool}")
        if form is None:
            return refused(request, 404, _NO_TOOL)
        typed = form.written(call) | {"machine": machine_text(playground.machine)}
        return self._answer(request, playground, PlaygroundPage(form, typed, opened=opened))

    def _decided(self, request: Request) -> Response:
        playground, given = self._playground(request), form_of(request)
        if isinstance(playground, Response):
            return playground
        form = _form(playground, given.get("tool", ""))
        if form is None:
            return refused(request, 404, _NO_TOOL)
        shown = PlaygroundPage(form, dict(given), nearby=given.get("nearby") != "later")
        if "load" in given:
            try:
                call = pasted_call(given["load"])
            except UsageError as error:
                shown.trouble = said(error)
                return _page(request, playground, shown)
            loaded = _form(playground, f"{call.server}/{call.tool}")
            if loaded is None:
                shown.trouble = _NO_TOOL
                return _page(request, playground, shown)
            kept = {"machine": given.get("machine", "")}
            shown = PlaygroundPage(loaded, loaded.written(call) | kept)
        return self._answer(request, playground, shown, given)

    def _answer(
        self,
        request: Request,
        playground: Playground,
        shown: PlaygroundPage,
        given: Mapping[str, str] | None = None,
    ) -> Response:
        """Decide what stands in the fields, and answer with the page."""
        try:
            shown.call = shown.form.read(shown.typed)
            shown.machine = _machine(shown.typed.get("machine", ""))
        except IronCurtainError as error:
            shown.trouble = said(error)
            return _page(request, playground, shown)
        beside = "Now" if playground.older is not None else ""
        wanted = partial(_is_there, request)
        decided = partial(_column, machine=shown.machine, nearby=shown.nearby, wanted=wanted)
        shown.columns = [decided(beside, playground.policy, shown.call)]
        if playground.older is not None:
            asked = playground.older.known_of(shown.call)
            shown.columns.append(decided(playground.called, playground.older, asked))
        if given is not None and given.get("keep"):
            _keep(playground, shown, given)
        return _page(request, playground, shown)

    def _playground(self, request: Request) -> Playground | Response:
        if self._opened is None:
            return page("policy_none.html", request, what="Playground", option="--bundle generated/bundle")
        try:
            return self._opened.get()
        except (IronCurtainError, OSError) as error:
            return refused(request, 500, said(error))


def machine_text(machine: DescribedWorld) -> str:
    """Return a machine as `world:` of scenarios describes it."""
    return yaml_text.written(machine.model_dump(mode="json", exclude_defaults=True) | {"home": machine.home})


@lru_cache(maxsize=8)
def _machine(text: str) -> DescribedWorld:
    """Read a machine; while somebody types a call, it is mostly the one of before."""
    return parse_document(text.replace("\r\n", "\n"), _MACHINE_FILE, DescribedWorld)


def _keep(playground: Playground, shown: PlaygroundPage, given: Mapping[str, str]) -> None:
    """Show the scenario, and append it where exactly this one was shown before."""
    explanation = shown.columns[0].explanation
    if explanation is None or shown.call is None or shown.machine is None:
        return
    try:
        scenario = _scenario(shown.call, explanation, given)
        shown.scenario = item_text(scenario)
        if given["keep"] != "append" or playground.scenarios is None:
            return
        if not hmac.compare_digest(given.get("shown", "").encode(), shown.scenario_digest.encode()):
            shown.kept = "This is not the scenario that you were shown; nothing was written."
            return
        playground.scenarios.append(scenario, shown.machine)
        shown.kept = f"{scenario.id} was appended to {playground.scenarios.name}."
        shown.scenario = None
    except (IronCurtainError, OSError) as error:
        shown.kept = f"Nothing was written: {said(error)}"


def _scenario(call: ScenarioCall, explanation: Explanation, given: Mapping[str, str]) -> Scenario:
    wanted = given.get("expect", "") or explanation.decision.verdict.value
    id_, why = given.get("scenario-id", "").strip(), given.get("why", "").strip()
    return scenario_of(call, explanation.decision, id_, wanted, why)


def _column(
    title: str,
    policy: WarmPolicy,
    call: ScenarioCall,
    *,
    machine: DescribedWorld,
    nearby: bool,
    wanted: Callable[[], bool],
) -> Column:
    try:
        return Column(title, policy.explain(call, machine, nearby=nearby, wanted=wanted))
    except (IronCurtainError, OSError) as error:
        return Column(title, trouble=said(error))


def _is_there(request: Request) -> bool:
    """Tell, from a worker thread, whether the browser still waits for the answer to a request."""
    return not from_thread.run(request.is_disconnected)


def _form(playground: Playground, named: str) -> CallForm | None:
    server, _, tool = named.partition("/")
    return CallForm.of(playground.policy.loaded, server, tool)


def _tools(playground: Playground) -> Iterator[str]:
    """Yield the tools by `SERVER/TOOL`; no server's name holds a slash."""
    yield from map("/".join, playground.policy.loaded.content.tools)


def _page(request: Request, playground: Playground, shown: PlaygroundPage) -> Response:
    return page(
        "playground.html",
        request,
        shown=shown,
        form=shown.form,
        typed=shown.typed,
        chosen=f"{shown.form.server}/{shown.form.tool}",
        tools=list(_tools(playground)),
        scenarios=[
            each
            for each in playground.known
            if (each.call.server, each.call.tool) == (shown.form.server, shown.form.tool)
        ],
        verdicts=[verdict.value for verdict in Verdict],
        file=playground.scenarios.name if playground.scenarios is not None else "",
    )
