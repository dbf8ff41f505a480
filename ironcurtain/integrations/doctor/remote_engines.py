"""The policy plane: do the nodes that decide serve the bundle, and can a new one be published?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.publishing.to_server import held_by_server
from ironcurtain.engine.remote import ask_nodes
from ironcurtain.engine.remote_nodes import Nodes, NodeStatus
from ironcurtain.errors import EngineFailedError, IronCurtainError, PublishError
from ironcurtain.integrations.doctor.report import Diagnosis
from ironcurtain.integrations.doctor.subject import Installation, failed, is_writable, nearest_existing
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.system.files import read_token
from ironcurtain.system.text import visible

NODE_FIXES: dict[str, str] = {
    ReservedRule.ENGINE_UNREACHABLE: (
        "Start it, and check its address and --engine-ca (docs/remote-engine.md)."
    ),
    ReservedRule.ENGINE_TIMEOUT: "It is overloaded or hangs: look at its log, and start it anew.",
    ReservedRule.ENGINE_REVISION: (
        "Publish this bundle (ironcurtain publish), or give the gateways the one it serves."
    ),
    ReservedRule.ENGINE_STATUS: "Check --engine-token-file, and that the bundle's name there is ironcurtain.",
    ReservedRule.ENGINE_MALFORMED: (
        "This is no OPA that serves our bundle: check the address (docs/remote-engine.md)."
    ),
}
_CHECK = "See docs/remote-engine.md."
_SCHEMES = ("http://", "https://")


def nodes(subject: Installation) -> Iterator[Diagnosis]:
    """Ask each node that was named whether it serves the bundle."""
    try:
        named = Nodes.of(subject.engine, ca=subject.engine_ca, token_file=subject.engine_token_file)
    except IronCurtainError as error:
        yield from failed("node", error)
        return
    if named is None:
        return
    try:
        revision = Bundle.read(subject.bundle).revision
    except IronCurtainError:
        yield Diagnosis(name="node", status="skip", what="the bundle cannot be read")
        return
    for node in asyncio.run(ask_nodes(named, revision)):
        yield of_node(node)


def of_node(node: NodeStatus) -> Diagnosis:
    """Return what a node's answer means."""
    name = f"node/{visible(node.url)}"
    if node.serves:
        return Diagnosis(name=name, status="ok", what="it serves the bundle")
    fix = NODE_FIXES.get(node.rule, _CHECK)
    return Diagnosis(
        name=name, status="fail", what=visible(node.reason), fix=fix, code=EngineFailedError.code
    )


def publishing(subject: Installation) -> Iterator[Diagnosis]:
    """Look whether a bundle could be published to the places that were named; nothing is written."""
    for target in subject.publish_to:
        name = f"publish/{visible(target)}"
        if not target.lower().startswith(_SCHEMES):
            yield _directory(name, Path(target))
            continue
        try:
            token = subject.publish_token_file
            held = held_by_server(target, read_token(Path(token)) if token is not None else None)
        except IronCurtainError as error:
            fix = "Start the server, and check the address and --publish-token-file (docs/publish.md)."
            yield from failed(name, error, fix)
            continue
        what = "it answers, and holds a bundle" if held is not None else "it answers, and holds nothing yet"
        yield Diagnosis(name=name, status="ok", what=what)


def _directory(name: str, place: Path) -> Diagnosis:
    """Look whether a bundle could be written into a directory, which is made if it does not exist."""
    nearest = nearest_existing(place)
    shown = visible(str(nearest))
    if not nearest.is_dir():
        what, fix = f"{shown} is no directory", "Move it away, or name another place."
    elif not is_writable(nearest):
        what = f"you may not write in {shown}"
        fix = "Give yourself the permission, or run as whoever has it."
    else:
        made = "" if nearest == place.absolute() else ", in a directory that is made"
        return Diagnosis(name=name, status="ok", what=f"a bundle can be written there{made}")
    return Diagnosis(name=name, status="fail", what=what, fix=fix, code=PublishError.code)
