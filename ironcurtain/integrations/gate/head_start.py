"""What a gate has a fork do while it loads what everything else needs: decide the scenarios it judges by.

The fork needs nothing that the analyses load, so none is loaded here; but what it needs is loaded and read
before, once for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios, decide_all
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.engine.command import OpaCommand, RegoReport
from ironcurtain.engine.locate import Opa
from ironcurtain.integrations.gate.inputs import GateInputs, is_alone, read_scenarios
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.forked import in_fork
from ironcurtain.system.structs import Struct


class HeadStart(Struct):
    """What was begun of a bundle.

    Attributes:
        checked: Returns what `check_rego` says of it.
        scenarios: The scenarios that it is judged in and by; None if there are none.
        decide: Returns what it decides of all of them.
    """

    checked: Callable[[], RegoReport]
    scenarios: Scenarios | None
    decide: Callable[[], DecidedScenarios] | None


@contextmanager
def head_start(
    bundle: Bundle, given: GateInputs, opa: Opa, checked: Callable[[], RegoReport]
) -> Iterator[HeadStart]:
    """Begin what can be begun of a bundle; where an error or an interrupt leaves the block, it ends.

    Args:
        bundle: The bundle.
        given: What the command line says.
        opa: The engine.
        checked: Returns what `check_rego` says of the bundle.

    Raises:
        BundleIntegrityError: If the bundle is none that can be read.
        UsageError: If the scenarios that are named do not exist.
        FileError, FormatError, NewerFormatError: If they cannot be read.
    """
    scenarios = None if is_alone(given) else read_scenarios(given)
    engine, decide = OpaCommand(opa), None
    PolicyContent.of(bundle)
    with ExitStack() as begun:
        if scenarios is not None:  # and before there is a second thread
            decide = begun.enter_context(in_fork(partial(decide_all, bundle, scenarios, engine)))
        yield HeadStart(checked, scenarios, decide)
