"""One word of the shipped constitution names a wider directory: everything that then says so.

After a wanted change: `IRONCURTAIN_WRITE_TRANSCRIPTS=1 pytest tests/e2e/author/test_widened_by_one_word.py`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from e2e.program import PROGRAM, Ended, Inside, environment
from support.documentation.transcript import Transcript
from support.projects.widened import Widened, widened

COMPILE = ("compile", "--saved-tools")
NEW, OLD = "generated/bundle", "../main/generated/bundle"
PROMISED = "../main/guarantees.yaml"
BEFORE = ("mutation", "--bundle", OLD, "--guarantees", PROMISED)
AFTER = ("mutation", "--bundle", NEW)
DIFF = ("diff", OLD, NEW, "--guarantees", PROMISED, "--format", "markdown")
GUARANTEES = ("guarantees", NEW, "--file", PROMISED, "-q")
FINDINGS = ("findings", "--bundle", NEW)
TIMEOUT = 560  # twenty times what it takes on an idle machine
BROKEN = "no-silent-read-elsewhere"


def tell(told: Transcript, arguments: Sequence[str], ended: Ended, code: int) -> str:
    shown = f"{ended.out}{ended.err}"
    assert ended.code == code, shown
    told.show(f"$ ironcurtain {' '.join(arguments)}\n{shown.rstrip()}\n[exit {code}]", "console")
    return shown


def beside(project: Widened, arguments: Sequence[str]) -> Ended:
    """Run a report as a program of its own: two of them take long, and run beside all else."""
    ended = subprocess.run(
        [*PROGRAM, *arguments],
        cwd=project.change,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def equivalent(shown: str) -> int:
    """Return how many mutants change no call; none survives."""
    found = re.search(r"^\d+ noticed, 0 survived, (\d+) equivalent$", shown, re.MULTILINE)
    assert found, shown
    return int(found[1])


def show_the_word(told: Transcript, project: Widened) -> None:
    names = ["../main/constitution.md", "constitution.md"]
    changed = subprocess.run(
        ["diff", *names], cwd=project.change, capture_output=True, text=True, check=False
    )
    assert changed.returncode == 1
    told.show(f"$ diff {' '.join(names)}\n{changed.stdout}", "console")


def publish(told: Transcript, project: Widened, compiled: Callable[[int], str]) -> None:
    """Compile the change, taking away what refuses it until nothing does."""
    told.say("The scenarios refuse it")
    shown = compiled(1)
    failing = re.findall(r"^(\S+) +escalate +allow +filesystem-allow-read-documents ", shown, re.MULTILINE)
    assert failing
    told.say(
        "The guarantee refuses it",
        f"Somebody takes the {len(failing)} scenarios away: they say what the constitution said before.",
    )
    project.take_away("scenarios.yaml", failing)
    assert BROKEN in compiled(1)
    told.say(
        "The finding refuses it",
        "They take the guarantee away, too. Now a sentence of the constitution decides nothing any more.",
    )
    project.take_away("guarantees.yaml", [BROKEN])
    shown = compiled(1)
    assert "filesystem-ask-read-elsewhere (escalate) never decides" in shown
    told.say("Published without any of them", "They accept the finding. Now nothing is in the way.")
    project.accept(re.findall(r" error: .* \[(\S+)\]$", shown, re.MULTILINE))
    compiled(0)


@pytest.mark.timeout(TIMEOUT)
def test_a_directory_that_is_wider_by_one_word(tmp_path: Path, inside: Inside) -> None:
    told = Transcript(
        "widened-by-one-word",
        "Wider by one word",
        "One word of the shipped constitution is changed, and compiled: what stops it, and what a reviewer\n"
        "sees who gets it all the same. `main` is the shipped project; the commands run in a changed copy.\n"
        "A test runs all this again and compares. Times and digests are left out.",
    )
    project = widened(tmp_path)

    with ThreadPoolExecutor(2) as pool:
        before = pool.submit(beside, project, BEFORE)
        told.say(
            "The word",
            "The questions of the compile are answered as before, but for one rule: it names `/` in place\n"
            "of `~/Documents`.",
        )
        show_the_word(told, project)
        publish(told, project, lambda code: tell(told, COMPILE, inside(*COMPILE, cwd=project.change), code))

        after = pool.submit(beside, project, AFTER)
        told.say(
            "What the review shows",
            "What is decided otherwise, and the guarantees of `main`, which the change cannot choose.",
        )
        assert "read-path" in tell(told, DIFF, inside(*DIFF), 1)
        told.say("The guarantee that it breaks", "With the smallest call that shows it:")
        assert BROKEN in tell(told, GUARANTEES, inside(*GUARANTEES), 1)
        told.say("The finding that was accepted", "The report counts it, and `waivers.yaml` is reviewed:")
        assert "0 errors, 0 warnings, 0 notes, 1 waived" in tell(told, FINDINGS, inside(*FINDINGS), 0)

        told.say("What nothing would notice, before", "Every change of the shipped policy is noticed:")
        some = equivalent(tell(told, BEFORE, before.result(), 0))
        told.say(
            "What nothing would notice, after",
            "No change survives here either, since the scenarios left are those that agree with the new\n"
            "sentence. But more changes than before make no difference to any call: the rule of the finding\n"
            "can be changed at will.",
        )
        assert equivalent(tell(told, AFTER, after.result(), 0)) > some
    told.check()
