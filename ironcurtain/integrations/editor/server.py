"""The language server: the protocol's side, made with `pygls`.

Whatever is typed is looked at a moment later, beside the protocol, over a snapshot of the texts. The gate
runs when a document is opened or saved, one run for a project at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from ironcurtain.compiler.verify.gate_report import GateReport
from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.editor.diagnose import diagnose
from ironcurtain.integrations.editor.lookup import offered_at, shown_at
from ironcurtain.integrations.editor.places import (
    Mistake,
    Span,
    TextPosition,
    Texts,
    of_error,
    offset_of,
    position_of,
)
from ironcurtain.integrations.editor.project import EditedProject, verified_mistakes, verify
from ironcurtain.system import assets

_PAUSE = 0.2
"""Seconds without typing after which a text is looked at."""

_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
"""What `verify` only notes is no more than a hint: most of it is as it has to be."""
_LOG = logging.getLogger(__name__)


@dataclass
class _Gate:
    """What the gate said last of a project.

    Attributes:
        running: The run under way.
        again: Whether something was saved since it began.
    """

    found: GateReport | IronCurtainError | None = None
    running: asyncio.Task[None] | None = None
    again: bool = False


@dataclass
class _Session:
    """What the server knows while it runs.

    Attributes:
        gates: By the root of a project.
        told: The documents that something is shown for.
        looking: The look at the texts that is under way or comes next.
        changed: Whether there is something that it has not seen.
    """

    runs_gate: bool
    texts: Texts = field(default_factory=Texts)
    gates: dict[Path, _Gate] = field(default_factory=dict)
    told: set[Path] = field(default_factory=set)
    looking: asyncio.Task[None] | None = None
    changed: bool = False


def serve(*, runs_gate: bool) -> None:
    """Serve an editor on standard input and output until it ends the session."""
    with (
        os.fdopen(os.dup(sys.stdin.fileno()), "rb") as heard,
        os.fdopen(os.dup(sys.stdout.fileno()), "wb") as said,
        redirect_stdout(sys.stderr),  # what is printed by mistake is no message of the protocol
    ):
        _server(_Session(runs_gate)).start_io(heard, said)


def _server(session: _Session) -> LanguageServer:
    server = LanguageServer(
        "ironcurtain", version("ironcurtain"), text_document_sync_kind=types.TextDocumentSyncKind.Full
    )
    _follow_documents(server, session)
    _answer_questions(server, session)
    return server


def _follow_documents(server: LanguageServer, session: _Session) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(parameters: types.DidOpenTextDocumentParams) -> None:
        if path := _path(parameters.text_document.uri):
            session.texts.show(path, parameters.text_document.text)
            _look_soon(server, session)
            _judge(server, session, path)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(parameters: types.DidChangeTextDocumentParams) -> None:
        if path := _path(parameters.text_document.uri):
            session.texts.show(path, server.workspace.get_text_document(parameters.text_document.uri).source)
            _look_soon(server, session)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(parameters: types.DidSaveTextDocumentParams) -> None:
        if path := _path(parameters.text_document.uri):
            _look_soon(server, session)
            _judge(server, session, path)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(parameters: types.DidCloseTextDocumentParams) -> None:
        if path := _path(parameters.text_document.uri):
            session.texts.close(path)
            _look_soon(server, session)


def _answer_questions(server: LanguageServer, session: _Session) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(parameters: types.HoverParams) -> types.Hover | None:
        path, offset, project = _asked_about(server, session, parameters)
        hover = shown_at(path, offset, project)
        if hover is None:
            return None
        text = types.MarkupContent(types.MarkupKind.PlainText, hover.text)
        return types.Hover(text, _range(server, project.texts.shown(path), hover.span))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(parameters: types.DefinitionParams) -> types.Location | None:
        path, offset, project = _asked_about(server, session, parameters)
        hover = shown_at(path, offset, project)
        return _location(server, project.texts, *hover.definition) if hover and hover.definition else None

    options = types.CompletionOptions(trigger_characters=[":", " "])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, options)
    def completion(parameters: types.CompletionParams) -> list[types.CompletionItem]:
        offered = offered_at(*_asked_about(server, session, parameters))
        return [types.CompletionItem(each.word, detail=each.meaning or None) for each in offered]


def _asked_about(
    server: LanguageServer,
    session: _Session,
    parameters: types.HoverParams | types.DefinitionParams | types.CompletionParams,
) -> tuple[Path, int, EditedProject]:
    path = _path(parameters.text_document.uri) or Path()
    asked = TextPosition(parameters.position.line, parameters.position.character)
    offset = offset_of(session.texts.shown(path), asked, _encoding(server))
    return path, offset, EditedProject.of(path, session.texts)


def _look_soon(server: LanguageServer, session: _Session) -> None:
    """Look at all open documents after a pause: what one says may concern another."""
    session.changed = True
    if session.looking is None or session.looking.done():
        session.looking = asyncio.ensure_future(_look_while_changed(server, session))


async def _look_while_changed(server: LanguageServer, session: _Session) -> None:
    while session.changed:
        while session.changed:
            session.changed = False
            await asyncio.sleep(_PAUSE)
        await _look(server, session)


async def _look(server: LanguageServer, session: _Session) -> None:
    texts = session.texts.snapshot()
    gates = {root: gate.found for root, gate in session.gates.items()}
    found = await asyncio.to_thread(_all_mistakes, texts, gates)
    for path in session.told - found.keys():
        found[path] = []
    session.told = {path for path, mistakes in found.items() if mistakes}
    for path, mistakes in found.items():
        shown = [_diagnostic(server, texts, mistake) for mistake in mistakes]
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(_uri(path), shown))


def _all_mistakes(
    texts: Texts, gates: dict[Path, GateReport | IronCurtainError | None]
) -> dict[Path, list[Mistake]]:
    """Return, by document, what is wrong with each that is open, and all that the gate said."""
    mistakes: dict[Path, list[Mistake]] = {path: [] for path in texts.paths}
    projects: dict[Path, EditedProject] = {}
    for path in texts.paths:
        project = EditedProject.of(path, texts)
        project = projects.setdefault(project.root, project)
        mistakes[path] += diagnose(path, project)
    for root, said in gates.items():
        if said is None or root not in projects:
            continue
        for mistake in _of_gate(said, projects[root]):
            # A mistake in a file is told where it is typed; the gate, which reads what was saved, is behind.
            if isinstance(said, GateReport) or mistake.path not in texts.paths:
                mistakes.setdefault(mistake.path, []).append(mistake)
    return mistakes


def _of_gate(said: GateReport | IronCurtainError, project: EditedProject) -> list[Mistake]:
    if isinstance(said, GateReport):
        return verified_mistakes(said, project)
    return of_error(said, project.constitution, project.texts, "verify")


def _judge(server: LanguageServer, session: _Session, path: Path) -> None:
    """Run the gate on a document's project, and once more where it runs already."""
    project = EditedProject.of(path, session.texts.snapshot())
    if not session.runs_gate or project.file is None:
        return
    gate = session.gates.setdefault(project.root, _Gate())
    if gate.running is not None and not gate.running.done():
        gate.again = True
        return
    gate.running = asyncio.ensure_future(_run_gate(server, session, gate, project))


async def _run_gate(server: LanguageServer, session: _Session, gate: _Gate, project: EditedProject) -> None:
    gate.again = True
    while gate.again:
        gate.again = False
        try:
            gate.found = await asyncio.to_thread(partial(verify, project))
        except IronCurtainError as error:
            gate.found = error
        except Exception:  # noqa: BLE001 - the editor's other services go on without the gate
            _LOG.exception("the gate failed")
            gate.found = None
        _look_soon(server, session)


def _diagnostic(server: LanguageServer, texts: Texts, mistake: Mistake) -> types.Diagnostic:
    related = [
        types.DiagnosticRelatedInformation(_location(server, texts, each.path, each.span), each.what)
        for each in mistake.related
    ]
    page, _, anchor = mistake.page.partition("#")
    file = assets.DOCS.parent / page
    href = f"{_uri(file)}{f'#{anchor}' if anchor else ''}"
    return types.Diagnostic(
        range=_range(server, texts.shown(mistake.path), mistake.span),
        message=mistake.message,
        severity=_severity(mistake),
        code=mistake.code,
        code_description=types.CodeDescription(href) if file.is_file() else None,
        source=f"ironcurtain {mistake.by}",
        related_information=related or None,
    )


def _severity(mistake: Mistake) -> types.DiagnosticSeverity:
    if mistake.by == "verify" and mistake.severity == "note":
        return types.DiagnosticSeverity.Hint
    return _SEVERITIES[mistake.severity]


def _location(server: LanguageServer, texts: Texts, path: Path, span: Span) -> types.Location:
    return types.Location(_uri(path), _range(server, texts.shown(path), span))


def _range(server: LanguageServer, text: str, span: Span) -> types.Range:
    encoding = _encoding(server)
    places = (position_of(text, offset, encoding) for offset in (span.start, span.end))
    start, end = (types.Position(place.line, place.character) for place in places)
    return types.Range(start, end)


def _encoding(server: LanguageServer) -> str:
    return str(server.workspace.position_encoding or types.PositionEncodingKind.Utf16)


def _path(uri: str) -> Path | None:
    """Return the file of a document; None for one that is no file, such as a new one without a name."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return Path(path) if path else None


def _uri(path: Path) -> str:
    return uris.from_fs_path(str(path)) or ""
