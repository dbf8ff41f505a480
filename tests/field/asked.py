"""Whether the real Claude Code asks its person where a hook says `ask`: `python -m field.asked PROGRAM`.

In each permission mode it is started in a terminal and plays one call; it has to show its question, and must
not have made the call.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from field.model import Model

MODES = ("default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions")
QUESTION = "Do you want"
LONGEST = 60
ANSWER = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}


def asked(program: str, mode: str) -> tuple[bool, bool]:
    """Start the client in a mode; return whether it asked, and whether it made the call."""
    home = Path(tempfile.mkdtemp(prefix="asked-"))
    work = home / "work"
    for directory in (work, home / ".claude"):
        directory.mkdir()
    hook = {"hooks": [{"type": "command", "command": f"echo {shlex.quote(json.dumps(ANSWER))}"}]}
    settings = {"hooks": {"PreToolUse": [hook]}, "skipDangerousModePermissionPrompt": True}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    known = {
        "hasCompletedOnboarding": True,
        "bypassPermissionsModeAccepted": True,
        "projects": {str(work): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
        "customApiKeyResponses": {"approved": ["dummy-key"], "rejected": []},
    }
    (home / ".claude.json").write_text(json.dumps(known))
    model = Model([("Write", {"file_path": str(work / "c.txt"), "content": "c"})])
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TERM": "xterm-256color",
        "ANTHROPIC_BASE_URL": model.address,
        "ANTHROPIC_API_KEY": "dummy-key",
        "IS_SANDBOX": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    variables = [f"{name}={value}" for name, value in environment.items()]
    tmux = ["tmux", "-L", home.name, "-f", "/dev/null"]
    client = ["env", "-i", *variables, program, "--permission-mode", mode, "Use the tools."]
    subprocess.run(
        [*tmux, "new-session", "-d", "-x", "120", "-y", "40", "-c", str(work), *client], check=True
    )
    try:
        end, screen = time.monotonic() + LONGEST, ""
        while QUESTION not in screen and not (work / "c.txt").exists() and time.monotonic() < end:
            time.sleep(0.5)
            shown = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True)
            screen = shown.stdout
        time.sleep(2)
        return QUESTION in screen, (work / "c.txt").exists()
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


if __name__ == "__main__":
    for each in MODES:
        is_asked, is_made = asked(sys.argv[1], each)
        sys.stdout.write(
            f"{each}: {'asked' if is_asked else 'NOT ASKED'}, {'MADE' if is_made else 'not made'}\n"
        )
        sys.stdout.flush()
