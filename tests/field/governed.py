"""The real Claude Code, governed by hooks, played by a loopback model: `python -m field.governed PROGRAM`.

Each of its own tools is called once; what it did is held against what the policy says of the call, and
against the audit log of its session.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from field.model import Model
from support.deployments.decided import MAIN, Governed

LONGEST = 600
MODES = ("default", "plan", "acceptEdits", "dontAsk", "bypassPermissions")


def script(work: Path) -> list[tuple[str, dict[str, Any], str]]:
    """Return calls, each with what the policy says of it."""
    return [
        ("Read", {"file_path": f"{work}/a.txt"}, "allow"),
        ("Read", {"file_path": "/etc/hostname"}, "deny"),
        ("Edit", {"file_path": f"{work}/a.txt", "old_string": "one", "new_string": "1"}, "allow"),
        ("Write", {"file_path": f"{work}/sub/../b.txt", "content": "b"}, "allow"),
        ("Write", {"file_path": f"{work}/link/../d.txt", "content": "d"}, "allow"),
        ("Write", {"file_path": f"{work}/ask/c.txt", "content": "c"}, "escalate"),
        ("Write", {"file_path": f"{work}/.claude/settings.local.json", "content": "{}"}, "deny"),
        ("Bash", {"command": f"touch {work}/shell"}, "escalate"),
        ("WebFetch", {"url": "http://127.0.0.1:9/", "prompt": "x"}, "deny"),
        ("CronCreate", {"cron": "* * * * *", "prompt": "x"}, "deny"),
    ]


def play(place: Governed, program: str, mode: str) -> Mapping[str, Any]:
    """Let the client play the script once; return what it did."""
    (place.work / "a.txt").write_text("one\n")
    calls = script(place.work)
    model = Model([(name, arguments) for name, arguments, _ in calls])
    environment = {
        **place.environment,
        "ANTHROPIC_BASE_URL": model.address,
        "ANTHROPIC_API_KEY": "dummy-key",
        "IS_SANDBOX": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    before = {path.name for path in logs(place)}
    ended = subprocess.run(
        [program, "-p", "Use the tools.", "--permission-mode", mode],
        cwd=place.work,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    last = max(model.turns, key=lambda turn: len(turn.results))
    (log,) = [path for path in logs(place) if path.name not in before]
    records = [json.loads(line)["record"] for line in log.read_text().splitlines()]
    return {
        "exit": ended.returncode,
        "decided": [
            (each["tool"], each["verdict"], each["forwarded"])
            for each in records
            if each["kind"] == "decision"
        ],
        "results": [each["status"] for each in records if each["kind"] == "result"],
        "told": [*zip(last.called, last.results, strict=False)],
        "written": sorted(
            str(path.relative_to(place.work)) for path in place.work.rglob("*") if path.is_file()
        ),
    }


def logs(place: Governed) -> list[Path]:
    """Return the logs of clients' sessions."""
    found = (place.home / ".ironcurtain" / "audit").glob("*.jsonl")
    return [path for path in found if not path.name.startswith("pdp-")]


def main(program: str) -> None:
    """Wrap the client, play in each mode, and say what differs from the policy."""
    root = Path(tempfile.mkdtemp(prefix="governed-"))
    place = Governed(root)
    (place.home / ".claude.json").write_text('{"hasCompletedOnboarding": true}')
    wrap = [*MAIN, "wrap", "claude-code", "--hooks-only", "--yes", "--bundle", str(place.bundle)]
    subprocess.run([*wrap, "--sandbox", str(place.work)], env=place.environment, check=True)
    settings = json.loads((place.home / ".claude" / "settings.json").read_text())
    words = shlex.split(settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"])
    place.socket = Path(next(word for word in words if word.endswith(".sock")))
    (place.work / "sub" / "deep").mkdir()
    (place.work / "link").symlink_to("sub/deep")  # the client takes `link/..` apart by the text
    try:
        for mode in MODES:
            for path in ("b.txt", "ask/c.txt", "shell", "sub/d.txt", "d.txt"):
                (place.work / path).unlink(missing_ok=True)
            found = play(place, program, mode)
            wanted = [(name, verdict, verdict == "allow") for name, _, verdict in script(place.work)]
            sys.stdout.write(
                f"{mode}: {'as the policy says' if found['decided'] == wanted else 'OTHERWISE'}\n"
            )
            sys.stdout.write(json.dumps(found, indent=1) + "\n")
            sys.stdout.flush()
    finally:
        subprocess.run([*MAIN, "unwrap", "claude-code"], env=place.environment, check=False)
        if (pid := place.pid) is not None:
            os.kill(pid, signal.SIGTERM)


if __name__ == "__main__":
    main(sys.argv[1])
