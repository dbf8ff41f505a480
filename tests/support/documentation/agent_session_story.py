"""The story of the transcript agent-session: `ironcurtain start` with the shipped policy and servers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from pytest_httpserver import HTTPServer

from support.deployments.proxied import LONG
from support.documentation.session_story import Story
from support.documentation.transcript import ROOT, Transcript
from support.people.terminal import COLUMNS, converse
from support.services.model_server import ANTHROPIC, ModelServer, Play

OPTIONS = "--bundle generated/bundle --servers mcp-servers.json --sandbox ~/work --model anthropic:test-model"
TASK = "Put my plan on the site, move it out of Documents, and push."
# A terminal draws the line that is typed in as often as it likes.
_SETTLED = (
    (re.compile(r"^approve, session or deny .*\[why\]> ?", re.MULTILINE), "approve, session or deny [why]> "),
    (re.compile(r"\b\d+\.\d s$", re.MULTILINE), "… s"),
)
_SESSION = re.compile(r"\b[0-9a-f]{12}\b")
_SERVERS = re.compile(r"^ironcurtain: server .*\n", re.MULTILINE)


class AgentStory(Story):
    """Has sessions of an agent whose model is a server on loopback that plays a script."""

    def __init__(self, root: Path, transcript: Transcript, server: HTTPServer) -> None:
        super().__init__(root, transcript)
        self.model = ModelServer(server, ANTHROPIC)
        self.environment |= {
            **self.model.environment("test-key"),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        }

    def play(self, *plays: Play) -> None:
        """Have the model answer so, from now on."""
        self.model.requests.clear()
        self.model.script[:] = plays

    def calls(self, *calls: tuple[str, dict[str, str]]) -> Play:
        """Call tools, one after the other; `~` is the person's home."""
        made = [(tool, json.dumps(given).replace("~", str(self.home))) for tool, given in calls]
        return ANTHROPIC.calls(*made)

    def start(self, arguments: str, *said: tuple[str, str]) -> None:
        """Start a session in a terminal where a person answers, and show all that stands there."""
        code, printed = converse(
            self._command(arguments), ROOT, self.environment | {"TERM": "xterm"}, *said, columns=COLUMNS
        )
        self.show(f"$ ironcurtain start {arguments}\n{printed.replace(chr(13), '')}[exit {code}]")

    def killed(self, arguments: str) -> str:
        """Start a session without a terminal, kill it while a call of it waits; return its id."""
        before = self.requests()
        with subprocess.Popen(
            self._command(arguments), cwd=ROOT, env=self.environment, stderr=subprocess.PIPE, text=True
        ) as run:
            end = time.monotonic() + LONG
            while self.requests() == before:
                assert time.monotonic() < end
                time.sleep(0.05)
            run.send_signal(signal.SIGKILL)
        self.show(f"$ ironcurtain start {arguments} 2> log &\n$ kill -9 %1")
        (request,) = self.requests() - before
        return str(json.loads(request.read_text())["request"]["session"])

    def requests(self) -> set[Path]:
        return set(self.approvals.glob("request-*.json"))

    def told(self) -> None:
        """Show what the model was told last, as the provider's API carries it."""
        message = json.dumps(self.model.requests[-1]["messages"][-1], indent=2)
        self.transcript.show(self.settled(message), "json")

    def show(self, text: str) -> None:
        self.transcript.show(self.settled(text), "console")

    def settled(self, text: str) -> str:
        """Return a text without what differs from run to run; servers start in any order."""
        for pattern, instead in _SETTLED:
            text = pattern.sub(instead, text)
        text = _SESSION.sub(
            lambda found: self._ids.setdefault(found[0], f"session-{len(self._ids) + 1}"), text
        )
        started = sorted(_SERVERS.findall(text))
        return super().settled(_SERVERS.sub(lambda _: started.pop(0), text))

    def _command(self, arguments: str) -> list[str]:
        return ["bash", "-c", f"exec ironcurtain start {arguments} {OPTIONS}"]


def tell(story: AgentStory) -> None:
    """Have the session, kill one, and go on with it."""
    say = story.transcript.say
    (story.home / "Documents" / "plan.txt").write_text("Ship on Friday.\n")
    say("A repository, and a bare one to push to")
    story.run(
        "git init -q --bare -b main ~/work/remote.git\n"
        "git -C ~/work/remote.git config --unset core.bare  # with it, no server may write there\n"
        "git init -q -b main ~/work/site\n"
        "git -C ~/work/site commit -q --allow-empty -m 'First page'\n"
        "git -C ~/work/site remote add origin ~/work/remote.git"
    )
    plan, page = "~/Documents/plan.txt", "~/work/site/plan.txt"
    push = ("git__git_push", {"path": "~/work/site", "remote": "origin", "branch": "main"})
    story.play(
        story.calls(
            ("filesystem__read_text_file", {"path": plan}),
            ("filesystem__write_file", {"path": page, "content": "Ship on Friday.\n"}),
            ("filesystem__move_file", {"source": plan, "destination": "~/work/plan.txt"}),
        ),
        story.calls(("filesystem__list_directory", {"path": "~/work/site"}), push),
        ANTHROPIC.answer("The plan is on the site and pushed. I may not move it out of Documents."),
    )
    say("A task", "The person types `approve` where the call waits.")
    story.start(f'"{TASK}"', ("[why]>", "approve\r"))
    story.run("git -C ~/work/remote.git log --oneline --all\nls ~/Documents ~/work/site")
    say("Killed while a call waits", "Another page is to be pushed, and the process is killed meanwhile.")
    story.run("git -C ~/work/site commit -q --allow-empty -m 'Second page'")
    story.play(story.calls(push))
    id_ = story.killed('"Push the second page."')
    story.run("git -C ~/work/remote.git log --oneline --all")
    say(
        "And resumed",
        "The call stands without a result, and nothing repeats it. Below, what the model is told.",
    )
    story.play(ANTHROPIC.answer("I cannot know whether it was pushed. Shall I look?"))
    story.start(f'"Did it work?" --resume {id_}')
    story.told()
    story.run("git -C ~/work/remote.git log --oneline --all")
    say("What is kept")
    story.run("ironcurtain sessions list")
    story.run(f"ironcurtain sessions show {id_} | head -3")
    story.run(f"ironcurtain audit verify {id_}")
