"""The shop example behind a proxy, as tests/e2e/transcripts/shop.md shows it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from support.documentation.shop_story import Story, tell
from support.documentation.transcript import Transcript
from support.machines.contained import NEEDS_SANDBOX

SAID = """\
An agent serves Ada behind `ironcurtain proxy` with the policy and the server of
examples/shop: records that are looked up, a budget, working hours and a
label decide. A test runs all this again and compares. It
turns the clock of the proxy, so that days pass in a minute. Each call stands as the agent makes it, and below
it what the agent is told. Ids, digests and times of the log are left out."""


@NEEDS_SANDBOX
@pytest.mark.timeout(900)
def test_the_shop_is_as_the_transcript_shows_it(tmp_path: Path) -> None:
    transcript = Transcript("shop", "A shop's records, budget and hours", SAID)
    anyio.run(tell, Story(tmp_path.resolve(), transcript))
    transcript.check()
