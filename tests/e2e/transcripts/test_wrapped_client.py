"""A desktop client wrapped, used, contained, drifted, unwrapped, as wrapped-client.md shows it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from support.documentation.client_story import CONTAINED, NODE, Story, tell
from support.documentation.transcript import Transcript
from support.machines.contained import FOUND

SAID = """\
A desktop client starts three servers: two from npm, and one that its maker will change. `ironcurtain wrap`
puts them behind the proxy. A client of the MCP SDK then starts exactly what the configuration says, with
the environment that a desktop gives: `HOME`, `USER`, `SHELL`, and `PATH=/usr/bin:/bin`. A test runs all
this again and compares. Each call stands as the agent makes it, and below it what the agent is told. Ids,
times, digests and the places of programs are left out."""


@pytest.mark.timeout(900)
@pytest.mark.skipif(not NODE.is_dir(), reason="the servers are not installed (make demo)")
def test_a_wrapped_client_is_as_the_transcript_shows_it(tmp_path: Path) -> None:
    transcript = Transcript("wrapped-client", "A desktop client behind the proxy", SAID)
    contained = FOUND.programs is not None
    anyio.run(tell, Story(tmp_path.resolve(), transcript, contained=contained))
    transcript.check(without=() if contained else (CONTAINED,))
    if not contained:
        pytest.skip(f'all but "{CONTAINED}" was compared: {FOUND.sentence}')
