"""A session of two servers behind the proxy, as tests/e2e/transcripts/session.md shows it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from support.documentation.session_story import Story, tell
from support.documentation.transcript import ROOT, Transcript
from support.machines.contained import NEEDS_SANDBOX

SAID = """\
An agent works behind `ironcurtain proxy` with the two servers of this repository's `mcp-servers.json` and the
policy in `generated/`; a person answers in a second terminal. A test runs all this again and compares. Each
call stands as the client makes it, and below it what the agent is told. Ids, times and digests are left
out."""


@NEEDS_SANDBOX
@pytest.mark.skipif(not (ROOT / "node_modules").is_dir(), reason="the servers are not installed (make demo)")
def test_the_session_is_as_the_transcript_shows_it(tmp_path: Path) -> None:
    transcript = Transcript("session", "A session behind the proxy", SAID)
    anyio.run(tell, Story(tmp_path.resolve(), transcript))
    transcript.check()
