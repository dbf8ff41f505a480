"""Telling a person elsewhere that a call waits: a command of the user's own, run for each new request.

    proxy --on-approval COMMAND     one after another, in a thread of their own
      standard input                the notice as JSON (`ironcurtain/approval-notice/v1`)
      IRONCURTAIN_APPROVAL_ID, IRONCURTAIN_APPROVAL_SUMMARY, IRONCURTAIN_APPROVAL_EXPIRES

Nothing waits for it, and nothing that it does or prints has an effect on a call. It is started without a
shell, so no text of a call is part of a command; it gets a small environment, in which no secrets of servers
are, and nothing that could answer a request. What it starts ends with it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from ironcurtain.decision.roles import NONE
from ironcurtain.enforcement.approvals.describe import effect_of, resources_of
from ironcurtain.enforcement.approvals.messages import ApprovalNotice, ApprovalRequest, NoticeResource
from ironcurtain.errors import UsageError
from ironcurtain.model.decision import ClauseCheck
from ironcurtain.model.verdict import Verdict
from ironcurtain.servers import process_tree
from ironcurtain.system import json_text
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import cut, isolated, quoted, visible

SECONDS = 10.0
"""How long the command may take, with all that it starts."""
MAX_QUEUED = 100
"""Most notices that wait for their turn; what comes then is told by the list alone."""

_PASSED_ON = (
    *("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"),
)
"""What a program needs to reach the person's screen; everything else of our environment stays with us."""
_GRACE = 1.0
_OPTION = "--on-approval"

Redacting: TypeAlias = Callable[[ApprovalRequest], ApprovalRequest]


class HookCommand(Struct):
    """The command: an absolute program, its arguments, and the PATH that it gets."""

    program: Path
    arguments: tuple[str, ...]
    path: str

    @classmethod
    def parse(cls, text: str) -> HookCommand:
        """Split a command into words, as a shell does; nothing in it is expanded.

        Raises:
            UsageError: If it has no words, or its program is not there or may not be run.
        """
        try:
            name, *arguments = shlex.split(text)
        except ValueError:
            raise UsageError(
                f"{quoted(text)} is no command", where=_OPTION, hint="Give a program and its arguments."
            ) from None
        search = ProgramSearch.own()
        found = Path(name) if Path(name).is_absolute() else search.find(name)
        if found is None or not os.access(found, os.X_OK):
            why = search.passed_over(name) if found is None else ""
            raise UsageError(f"{quoted(name)} {why or 'was not found'}", where=_OPTION)
        return cls(found, tuple(arguments), search.safe_path())

    def check(self, reachable: Iterable[Path]) -> None:
        """See that neither tools and servers nor other people can change what is run.

        Args:
            reachable: Directories that tools or servers can write.

        Raises:
            UsageError: Naming the file.
        """
        search = ProgramSearch(self.path, tuple(reachable))
        for file in (self.program, *self.files):
            if refused := search.refusal(file):
                raise UsageError(
                    f"{visible(str(file))} is not run: {refused}",
                    where=_OPTION,
                    hint="Put it where only you can write.",
                )

    @property
    def files(self) -> tuple[Path, ...]:
        """The user's own files among its words, such as a script; not what the PATH is searched for."""
        words = (str(self.program), *self.arguments)
        named = (Path(word) for word in words if word.startswith("/"))
        programs = {Path(place) for place in self.path.split(os.pathsep)}
        return tuple(path for path in named if path.is_file() and path.parent not in programs)


class Hook:
    """Runs the command for each request that is told; close it at the end.

    Args:
        command: What is run.
        redacted: Takes out of a request what must not be told.
        say: Tells the person who started the proxy of what goes wrong, once for each kind.
        seconds: How long the command may take.
    """

    def __init__(
        self,
        command: HookCommand,
        redacted: Redacting,
        say: Callable[[str], None],
        *,
        seconds: float = SECONDS,
    ) -> None:
        self._command, self._redacted, self._say, self._seconds = command, redacted, say, seconds
        self._queue: queue.Queue[ApprovalRequest | None] = queue.Queue(MAX_QUEUED)
        self._said = ""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._work, name="ironcurtain-on-approval", daemon=True)
        self._thread.start()

    def tell(self, request: ApprovalRequest) -> None:
        """Have the command run for a request, when it is its turn. Neither waits nor fails."""
        try:
            self._queue.put_nowait(request)
        except queue.Full:
            self._complain("too many requests wait: some are not told")

    def close(self) -> None:
        """End what runs, and tell no more."""
        self._ending.set()
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(None)
        self._thread.join(2 * _GRACE + 1)

    def _work(self) -> None:
        while (request := self._queue.get()) is not None and not self._ending.is_set():
            try:
                self._complain(self._run(notice_of(self._redacted(request))))
            except Exception as error:  # noqa: BLE001 - whatever it is, the calls go on and the next is told
                self._complain(f"it cannot be run: {visible(str(error) or type(error).__name__)}")

    def _run(self, notice: ApprovalNotice) -> str:
        """Run the command; return what went wrong, nothing if all went well."""
        with tempfile.TemporaryFile() as facts:  # a file, not a pipe: who does not read it holds up nobody
            facts.write(json_text.canonical(notice.model_dump(mode="json")) + b"\n")
            facts.seek(0)
            process = subprocess.Popen(  # noqa: S603 - the user's own command, no shell, no text of a call
                [
                    *(sys.executable, "-I", "-S", process_tree.__file__, str(os.getpid())),
                    *(str(self._command.program), *self._command.arguments),
                ],
                cwd="/",
                env=self._environment(notice),
                stdin=facts,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        try:
            return self._wait(process)
        finally:
            _end(process)

    def _wait(self, process: subprocess.Popen[bytes]) -> str:
        left = self._seconds
        while left > 0 and not self._ending.is_set():
            step = min(left, 0.2)
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(step)
                return f"it ended with {status}" if status else ""
            left -= step
        return "" if self._ending.is_set() else f"it did not end within {self._seconds:g} s, and was ended"

    def _environment(self, notice: ApprovalNotice) -> dict[str, str]:
        passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        return {
            **passed_on,
            "PATH": self._command.path,
            "IRONCURTAIN_APPROVAL_ID": notice.id,
            "IRONCURTAIN_APPROVAL_SUMMARY": notice.summary,
            "IRONCURTAIN_APPROVAL_EXPIRES": f"{notice.expires:%Y-%m-%dT%H:%M:%SZ}",
        }

    def _complain(self, problem: str) -> None:
        if problem and problem != self._said:
            self._say(f"the command of --on-approval: {problem}")
        self._said = problem


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and all that it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
            os.killpg(process.pid, signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)


_RESOURCES = 20
_VALUE = 300
_CHECK = 2_000
_SUMMARY = 300
_IN_SUMMARY = 2


def notice_of(request: ApprovalRequest) -> ApprovalNotice:
    """Return the notice of a request, which is told as it is: redact it before.

    Every text is bounded and safe to show, and the summary begins with a word of ours: a program that takes
    it as an argument does not take it for an option.
    """
    resources = [each for each in request.subjects if each.role != NONE]
    about = resources_of(request, most=_IN_SUMMARY, length=_VALUE // 3)
    call = f"{_safe(request.server)} {_safe(request.tool)}"
    return ApprovalNotice(
        id=request.id,
        summary=isolated(cut(f"Waits for you: {call}" + (f" {about}" if about else ""), _SUMMARY)),
        session=_safe(request.session),
        client=_safe(request.client),
        server=_safe(request.server),
        tool=_safe(request.tool),
        effect=effect_of(request, length=_VALUE),
        resources=tuple(
            NoticeResource(
                role=_safe(each.role), value=_safe(each.value), asked=each.verdict is Verdict.ESCALATE
            )
            for each in resources[:_RESOURCES]
        ),
        more=max(0, len(resources) - _RESOURCES),
        clause=_safe(request.clause) if request.clause is not None else None,
        reason=_safe(request.reason),
        checks=tuple(
            ClauseCheck(clause=_safe(each.clause), text=cut(visible(each.text), _CHECK))
            for each in request.checks[:_RESOURCES]
        ),
        approver=_safe(request.approver) if request.approver is not None else None,
        asked=request.asked,
        expires=request.expires,
        answer=f"ironcurtain approvals approve {request.id}",
    )


def _safe(text: str) -> str:
    return cut(visible(text), _VALUE)
