"""The support desk, served over stdio and HTTP, as tests/e2e/transcripts/support-desk.md shows it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from support.documentation.support_desk_story import Story, tell
from support.documentation.transcript import Transcript

SAID = """\
The gateway of examples/support_desk, and clients of the MCP SDK: one
over standard input and output, whose permissions are in a file, and two over HTTP, whose permissions are in
signed tokens. A test runs all this again and compares. Each call stands as the agent makes it, and below it
what the agent is told. Ids, times and digests are left out."""


@pytest.mark.timeout(900)
def test_the_support_desk_is_as_the_transcript_shows_it(tmp_path: Path) -> None:
    transcript = Transcript("support-desk", "A support desk's own tools", SAID)
    anyio.run(tell, Story(tmp_path.resolve(), transcript))
    transcript.check()
