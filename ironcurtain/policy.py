"""The library: a bundle, the place where it is enforced, and an engine, behind one object.

For people who embed IronCurtain: `from ironcurtain import Policy`. What decides is imported when a policy is
loaded, which can be while its engine starts.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias, TypeVar

from pydantic_core import to_json

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.decision.refusal import Refusal
from ironcurtain.engine.answer import EngineAnswerError
from ironcurtain.engine.engine import Engine
from ironcurtain.engine.locate import Opa, find
from ironcurtain.engine.remote_nodes import Nodes
from ironcurtain.errors import EngineMissingError, EngineVersionError, IronCurtainError
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.servers.config import ServerConfig, load_servers, real_paths
from ironcurtain.system.background import in_background
from ironcurtain.system.files import absolute
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from ironcurtain.decision.decide import Call, TracedDecision
    from ironcurtain.decision.loaded_policy import LoadedPolicy
    from ironcurtain.decision.policy_input import PolicyInput
    from ironcurtain.engine.remote import RemoteEngine

_UNVERIFIED = Trust()
_Result = TypeVar("_Result")

AnyEngine: TypeAlias = "Engine | RemoteEngine"
"""What decides: an OPA of our own, or OPAs that others run."""


class Policy:
    """A loaded policy with its own engine; use it as a context manager.

    Decisions may be asked for from any thread and from any event loop, side by side. The engine lives
    in a background thread for as long as the context is open. One that is never closed is closed when
    nothing refers to it any more, or when the program ends.
    """

    def __init__(
        self,
        bundle: Bundle,
        loaded: LoadedPolicy | Callable[[], LoadedPolicy],
        *,
        opa: Path | None = None,
        trust: Trust = _UNVERIFIED,
        nodes: Nodes | None = None,
        reachable: tuple[Path, ...] = (),
    ) -> None:
        """Take a policy that is ready, or what makes it ready; `load` is the way to get one."""
        self._bundle = bundle
        self._trust = trust
        self._load = loaded
        self._nodes = nodes
        self._opa_path = opa
        self._reachable = reachable
        try:
            self._opa = None if nodes else find(opa, reachable=reachable)
        except IronCurtainError:
            _ = self.loaded  # a directory that cannot be used is told first: it may be why no engine is left
            raise
        self._stop: Callable[[], object] = _nothing_to_stop
        self._portal: BlockingPortal | None = None
        self._engine: AnyEngine | None = None

    @classmethod
    def load(  # noqa: PLR0913 - each is an option of a command, and has a default
        cls,
        bundle: str | Path,
        *,
        sandbox: str | Path | None = None,
        home: str | Path | None = None,
        protected: Iterable[str | Path] = (),
        unchangeable: Iterable[str | Path] = (),
        servers: str | Path | None = None,
        expect_revision: str | None = None,
        verify_key: str | Path | None = None,
        min_serial: int | None = None,
        opa: str | Path | None = None,
        engine: str | Sequence[str] = (),
        engine_ca: str | Path | None = None,
        engine_token_file: str | Path | None = None,
        late: bool = False,
    ) -> Policy:
        """Load a bundle for enforcement on this machine.

        Args:
            bundle: Bundle directory or `.tar.gz`.
            sandbox: The session's working directory; without one nothing is contained.
            home: The home directory (default: the user's).
            protected: Paths no tool may touch, beside the bundle, the project that it was made from
                (`bundle/origin.py`), the files named here and `~/.ironcurtain`.
            unchangeable: Paths that tools may read and not change: what governs a client of its own tools.
            servers: `mcp-servers.json`, for working roots and domain lists.
            expect_revision: Refuse any other revision.
            verify_key: Public key in PEM form; refuse whatever its owner did not sign. Without one nobody
                checks whose the bundle is.
            min_serial: Refuse a bundle of a lower serial number; needs `verify_key`.
            opa: The OPA executable (default: see `ironcurtain opa which`).
            engine: Address of an OPA that others run and that serves this bundle, or of several; then
                these decide (docs/remote-engine.md). Without one, an OPA of our own does.
            engine_ca: Certificates of the authorities that vouch for these, PEM (default: the system's).
            engine_token_file: A file that holds the bearer token for these.
            late: Look at rules and directories while the engine starts: what is wrong with them is raised
                there.

        Raises:
            IronCurtainError: If the bundle, the directories, the servers' file or the engine cannot be used.
        """
        trust = Trust.of(verify_key=verify_key, expect_revision=expect_revision, min_serial=min_serial)
        read = open_bundle(Path(bundle), trust)
        config = load_servers(Path(servers)) if servers is not None else None
        named = [file for file in (verify_key, engine_ca, engine_token_file) if file]
        ours = [*protected, bundle, *(config.own if config else ()), *named]
        user = str(home if home is not None else Path.home())
        reachable = _reachable(user, sandbox, config)

        def on_this_machine() -> LoadedPolicy:
            from ironcurtain.decision.on_this_machine import load_on_this_machine  # noqa: PLC0415 - see above

            return load_on_this_machine(
                read,
                Path(bundle),
                home=user,
                sandbox=sandbox,
                protected=ours,
                unchangeable=unchangeable,
                config=config,
                reachable=reachable,
            )

        return cls(
            read,
            on_this_machine if late else on_this_machine(),
            opa=Path(opa) if opa is not None else None,
            trust=trust,
            reachable=reachable,
            nodes=Nodes.of(
                [engine] if isinstance(engine, str) else engine, ca=engine_ca, token_file=engine_token_file
            ),
        )

    @cached_property
    def loaded(self) -> LoadedPolicy:
        """The policy as `ironcurtain.decide` uses it."""
        return self._load() if callable(self._load) else self._load

    @property
    def revision(self) -> str:
        """The bundle's revision."""
        return self._bundle.revision

    @property
    def reachable(self) -> tuple[Path, ...]:
        """The sandbox and what servers' `allowWrite` names, as real paths: no program is taken from there."""
        return self._reachable

    @property
    def trusted(self) -> bool:
        """Whether a signature or a known revision says that this is the right bundle."""
        return self._trust.vouches

    @property
    def signature(self) -> str:
        """Whether the bundle is signed, in words: `unsigned`, or by which key, or that no key was checked."""
        return self._trust.signature_words(self.bundle)

    @property
    def bundle(self) -> Bundle:
        """The bundle that was loaded."""
        return self._bundle

    @property
    def opa(self) -> Opa:
        """The executable that engines of our own are started from.

        Raises:
            EngineMissingError, EngineVersionError: If there is none, and other OPAs decide.
        """
        return self._opa or find(self._opa_path, reachable=self._reachable)

    @property
    def nodes(self) -> tuple[str, ...]:
        """The addresses of the OPAs that decide; none if we run one of our own."""
        return self._nodes.urls if self._nodes else ()

    def engine(self, *, wait: float = 0.0) -> AnyEngine:
        """Return a new engine of this policy, for an event loop of one's own; it is not started yet.

        Args:
            wait: Seconds that its start waits for a node that serves another revision as yet.

        Raises:
            BundleSignatureError: If a key is known and OPA, asked for itself, refuses the signature.
            BundleIntegrityError, SeveralErrors: If others decide, and the bundle uses built-ins that a policy
                may not use; an engine of our own says so when it starts.
        """
        from ironcurtain.engine.command import OpaCommand  # noqa: PLC0415 - it loads for a while

        archive, key = self._bundle.archive(), self._trust.key
        if self._nodes is not None:
            from ironcurtain.engine.remote import RemoteEngine  # noqa: PLC0415 - few need its library

            with suppress(EngineMissingError, EngineVersionError):  # nodes do without one here
                OpaCommand(self.opa).check_built_ins(archive)
            return RemoteEngine(self._nodes, self.revision, wait=wait)
        if key is not None:
            OpaCommand(self.opa).verify_signature(archive, key.pem, key.algorithm)
        return Engine(self.opa, archive, self.revision)

    def __enter__(self) -> Self:
        """Start the engine, after OPA has verified the signature for itself where a key is known.

        Raises:
            EngineFailedError: If it does not start, or no node serves the bundle.
            BundleSignatureError: If OPA refuses the signature.
        """
        from ironcurtain.system.loop_thread import loop_thread  # noqa: PLC0415 - who has a loop needs none

        engine: AbstractAsyncContextManager[AnyEngine] = self.engine()
        with ExitStack() as stack:
            portal = stack.enter_context(loop_thread())
            with in_background(self._get_ready) as loading:
                self._engine = stack.enter_context(portal.wrap_async_context_manager(engine))
                loading.result()
            self._portal = portal
            # Before the interpreter stops the thread that the engine lives in: after that nothing could.
            self._stop = weakref.finalize(self, stack.pop_all().close)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop the engine."""
        self._portal = self._engine = None
        self._stop()

    def decide(
        self,
        server: str,
        tool: str,
        arguments: JsonSource | bytes,
        caller: Mapping[str, JsonValue] | None = None,
        facts: Mapping[str, JsonValue] | None = None,
    ) -> Decision:
        """Decide one call. Every input yields a decision; any failure is a deny.

        Args:
            server: The server's name.
            tool: The tool's name.
            arguments: An object, or its JSON text.
            caller: Facts about whom the agent acts for, from a source that you trust.
            facts: Values of the facts that the policy declares, as `known_facts` returns them; one that is
                left out, of another type than declared, or a total without this call, is not known.
        """
        from ironcurtain.decision.decide import Call  # noqa: PLC0415 - see above

        return self.decide_many([Call(server, tool, arguments, caller, facts=facts)])[0]

    def known_facts(self, stated: Mapping[str, JsonValue], at: str | None = None) -> dict[str, JsonValue]:
        """Return the facts that a decision sees, from values as they were found.

        Args:
            stated: By name: of a record an object of its fields, instants as texts of RFC 3339; of a counter
                the total with this call; of a label true or false.
            at: When the call is decided, as text of RFC 3339: clocks and ages follow from it.

        Raises:
            ScenarioError: If the policy does not declare a fact, or a value is not of its type.
        """
        from ironcurtain.decision.facts import stated_facts  # noqa: PLC0415 - see above

        return stated_facts(self.loaded.facts, stated, at)

    async def adecide(
        self,
        server: str,
        tool: str,
        arguments: JsonSource | bytes,
        caller: Mapping[str, JsonValue] | None = None,
        facts: Mapping[str, JsonValue] | None = None,
    ) -> Decision:
        """Decide one call from an event loop, which is not blocked meanwhile."""
        from ironcurtain.decision.decide import Call  # noqa: PLC0415 - see above

        call = Call(server, tool, arguments, caller, facts=facts)
        return await asyncio.wrap_future(self._running().start_task_soon(self._decide, call))

    def decide_many(self, calls: Iterable[Call]) -> list[Decision]:
        """Decide calls one after the other; return their decisions in the same order.

        What is no `Call` is denied, like any other malformed call.
        """
        from ironcurtain.decision.decide import decide  # noqa: PLC0415 - see above

        self._running()
        return [_completed(decide(call, self.loaded, self._ask_from_here)) for call in calls]

    def decide_traced(self, calls: Iterable[Call], at: LoadedPolicy | None = None) -> list[TracedDecision]:
        """Decide calls as `decide_many` does, and say what each step found.

        Args:
            calls: The calls.
            at: The same policy, loaded in another place, such as a described world.

        Raises:
            ValueError: If that is another policy: our engine does not decide by it.
        """
        from ironcurtain.decision.decide import decide_traced  # noqa: PLC0415 - see above

        self._running()
        loaded = at or self.loaded
        if loaded.revision != self.revision:
            msg = "the policy that was loaded elsewhere is another one than the engine's"
            raise ValueError(msg)
        return [_completed(decide_traced(call, loaded, self._ask_from_here)) for call in calls]

    def _get_ready(self) -> None:
        """Import what decides, and load the policy if it is not yet."""
        for name in ("decide", "canonical.json_schema"):
            import_module(f"ironcurtain.decision.{name}")
        _ = self.loaded

    async def _decide(self, call: Call) -> Decision:
        from ironcurtain.decision.decide import decide  # noqa: PLC0415 - see above

        return await decide(call, self.loaded, self._ask)

    async def _ask(self, question: PolicyInput) -> JsonValue:
        engine = self._opened()
        try:
            return (await engine.query(to_json(question))).result
        except EngineAnswerError as error:
            raise _no_decision(error) from None

    async def _ask_from_here(self, question: PolicyInput) -> JsonValue:
        """Ask without suspending: in the thread that wants to know, which spares two hand-overs of a call."""
        engine = self._opened()
        try:
            if isinstance(engine, Engine):
                return engine.query_blocking(to_json(question)).result
            return self._running().call(engine.query, to_json(question)).result
        except EngineAnswerError as error:
            raise _no_decision(error) from None

    def _opened(self) -> AnyEngine:
        if self._engine is None:
            raise Refusal(ReservedRule.ENGINE_DEAD, "The policy was closed.")
        return self._engine

    def _running(self) -> BlockingPortal:
        if self._portal is None:
            raise RuntimeError("a policy decides inside its context: `with Policy.load(…) as policy:`")
        return self._portal


def _no_decision(error: EngineAnswerError) -> Refusal:
    return Refusal(error.rule, f"The engine gave no decision: {error.reason}.")


def _completed(deciding: Coroutine[None, None, _Result]) -> _Result:
    """Run a coroutine that never suspends, here and now."""
    try:
        deciding.send(None)
    except StopIteration as end:
        result: _Result = end.value
        return result
    deciding.close()
    raise RuntimeError("deciding was suspended, and nothing here would resume it")


def _nothing_to_stop() -> None:
    """Stop no engine: none has been started."""


def _reachable(home: str, sandbox: str | Path | None, config: ServerConfig | None) -> tuple[Path, ...]:
    """Return what tools or contained servers can write: no program of ours is taken from there."""
    user, here = Path(absolute(home)), Path.cwd()
    session = real_paths([absolute(sandbox)], home=user, directory=here) if sandbox is not None else []
    return (*session, *(config.writable(user) if config else ()))
