"""A session of an agent, killed and resumed, as tests/e2e/transcripts/agent-session.md shows it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pytest_httpserver import HTTPServer
from support.documentation.agent_session_story import AgentStory, tell
from support.documentation.transcript import ROOT, Transcript
from support.machines.contained import NEEDS_SANDBOX

SAID = """\
`ironcurtain start` with the two servers of this repository's
`mcp-servers.json` and the policy in `generated/`. A test runs all this again and compares. **No model wrote
what the agent says and asks for here**: a server on loopback speaks a provider's protocol and plays a script,
so that the same happens every time. The servers, the policy, the repository and the terminal are real.
Each command also has `--bundle generated/bundle --servers mcp-servers.json --sandbox ~/work` and a `--model`.
Ids, times and digests are left out."""


@NEEDS_SANDBOX
@pytest.mark.timeout(300)
@pytest.mark.skipif(not (ROOT / "node_modules").is_dir(), reason="the servers are not installed (make demo)")
def test_the_agents_session_is_as_the_transcript_shows_it(httpserver: HTTPServer) -> None:
    transcript = Transcript("agent-session", "An agent session", SAID)
    # The line of a call has room for short paths only.
    with TemporaryDirectory() as root:
        tell(AgentStory(Path(root).resolve(), transcript, httpserver))
    transcript.check()
