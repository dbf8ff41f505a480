"""A newcomer's machine: the wheel in an environment of its own, an empty home, and what is typed there.

Nothing of the checkout can be imported there or is on PATH, but for the sandbox runtime of `node_modules`.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ironcurtain.engine.locate import find, pin
from support.documentation.transcript import ROOT, Transcript
from support.machines.installed import Installed
from support.people.terminal import in_terminal

_SETTLED = (
    # Before the rules for names, which a key's random letters may look like.
    (re.compile(r"(BEGIN PUBLIC KEY-----\s+)[^-]+"), r"\1…\n"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "ID"),
    (re.compile(r"\b\d+ records in"), "… records in"),
    (re.compile(r"(clients/[A-Za-z-]+-json)-[0-9a-f]{12}/[0-9a-f]{12}/"), r"\1-FILE/WRAP/"),
    (re.compile(r"\brecords(:| \| passed \|) \d+"), r"records\1 …"),
    (re.compile(r"\b\d+ calls recorded"), "… calls recorded"),
    (re.compile(r"\b(manifest|opa test) \| passed \| \d+"), r"\1 | passed | …"),
    (re.compile(r"sha256:[0-9a-f]{6,64}…?"), "sha256:…"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z| UTC|\+00:00)?"), "TIME"),
    (re.compile(r"\b\d+:\d\d left"), "MM:SS left"),
    (re.compile(r"(?<![\w-])[\w-]{43}(?![\w-])"), "KEY-ID"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), "http://127.0.0.1:PORT"),
    (re.compile(rf"\bby {re.escape(getpass.getuser())}\b"), "by you"),
)


class Journey:
    """A home in which somebody types commands, and the transcript of it.

    Attributes:
        home: The home directory.
        here: The directory that the next command is typed in.
        environment: What programs get.
    """

    def __init__(self, root: Path, installed: Installed, transcript: Transcript, **more: str) -> None:
        self.home = self.here = root.resolve() / "you"
        self.transcript = transcript
        self._programs = root.resolve() / "programs"
        self._opa = self.home / ".cache" / "ironcurtain" / "opa" / pin().version / "opa"
        self._environment = installed.program.parent.parent
        self._known: dict[str, str] = {}
        self._make_home()
        self.environment = {
            "PATH": self._path(),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
            **more,
        }

    def _make_home(self) -> None:
        self._opa.parent.mkdir(parents=True)
        self._opa.symlink_to(find().path)
        self.home.chmod(0o700)
        self._programs.mkdir()
        for name, file in {
            "srt": ROOT / "node_modules" / ".bin" / "srt",
            "uv": Path(shutil.which("uv") or ""),
        }.items():
            (self._programs / name).symlink_to(file)

    def _path(self) -> str:
        """Return the machine's own PATH behind the environment's: nothing of this checkout or another one."""
        mine = [str(self._environment / "bin"), str(self._programs)]
        own = {ROOT, Path(sys.prefix)}
        others = dict.fromkeys(os.environ["PATH"].split(os.pathsep))
        kept = (each for each in others if not own & {*Path(each).parents})
        return os.pathsep.join([*mine, *(each for each in kept if not (Path(each) / "ironcurtain").exists())])

    def say(self, heading: str, text: str = "") -> None:
        """Begin a part of the transcript."""
        self.transcript.say(heading, text)

    def go(self, directory: str) -> None:
        """Change into a directory, as `cd` does."""
        self.here = (self.here / directory).resolve()

    def type(self, command: str, code: int = 0, answers: str = "") -> str:
        """Type a command in a terminal; write down what it prints, and return that.

        Args:
            command: The line, for bash.
            code: How it has to end.
            answers: What is typed when it asks.
        """
        ended, printed = self.attempt(command, answers)
        assert ended == code, f"$ {command}\n{printed}[exit {ended}]"
        return printed

    def attempt(self, command: str, answers: str = "", *, told: bool = True) -> tuple[int, str]:
        """Type a command that may end in several ways; write down what it prints, and return both."""
        code, printed = self._run(command, answers)
        if not told:
            return code, printed
        if printed and not printed.endswith("\n"):
            printed += "\n"
        end = f"[exit {code}]\n" if code else ""
        self.transcript.show(self.settled(f"$ {command}\n{printed}{end}"), "console")
        return code, printed

    def _run(self, command: str, answers: str) -> tuple[int, str]:
        return in_terminal(["bash", "-c", command], self.here, self.environment, answers)

    def run(self, command: str, code: int = 0) -> str:
        """Type a command of which nothing is written down."""
        ended, printed = self._run(command, "")
        assert ended == code, f"$ {command}\n{printed}[exit {ended}]"
        return printed

    def shows(self, text: str) -> None:
        """Write down what somebody else sees."""
        self.transcript.show(self.settled(text))

    def write(self, name: str, content: str) -> None:
        """Write a file with an editor."""
        path = self.here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def commits(self, message: str) -> None:
        """Commit all that lies here, in a repository that is made where there is none."""
        who = "-c user.name=you -c user.email=you@example.com"
        made = "" if (self.here / ".git").exists() else "git init -q -b main . && "
        self.run(f"{made}git add -A && git {who} commit -qm '{message}'")

    def read(self, name: str) -> str:
        """Return what a file holds."""
        return (self.here / name).read_text()

    def replace(self, name: str, old: str, new: str) -> None:
        """Change a passage of a file with an editor, and write the change down."""
        text = self.read(name)
        assert text.count(old) == 1, (name, old)
        self.write(name, text.replace(old, new))
        lines = [*(f"- {line}" for line in old.splitlines()), *(f"+ {line}" for line in new.splitlines())]
        self.transcript.show("\n".join([f"# in {name}", *lines]), "diff")

    def answer(self, key: str, content: Any) -> None:
        """Put an answer where a compile by hand looks for it."""
        self.write(f"questions/{key}.answer.json", json.dumps(content))

    def names(self, place: str, name: str) -> None:
        """Show a name in place of something that differs from machine to machine."""
        self._known[place] = name

    def settled(self, text: str) -> str:
        """Return a text without what differs from machine to machine and from run to run."""
        known: Mapping[str, str] = {
            **self._known,
            self.environment["PATH"]: "SEARCH-PATH",
            # A machine may have one on its PATH, which is taken before.
            shutil.which("opa", path=self.environment["PATH"]) or str(self._opa): str(self._opa),
            str(self._environment): "/opt/venv",
            str(self._programs): "/usr/local/bin",
            str(self.home): "/home/you",
        }
        for place, name in known.items():
            text = text.replace(place, name)
        for pattern, instead in _SETTLED:
            text = pattern.sub(instead, text)
        return text
