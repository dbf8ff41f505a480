"""One word of the shipped constitution names a wider directory: everything that then says so.

After a wanted change: `IRONCURTAIN_WRITE_TRANSCRIPTS=1 pytest tests/e2e/test_widened_by_one_word.py`.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from e2e.program import Ended, Inside, program
from support.transcript import Transcript
from support.widened import Widened, widened

COMPILE = ("compile", "--saved-tools")
NEW = ("--bundle", "generated/bundle")
DIFF = ("diff", "../main/generated/bundle", "generated/bundle", "--guarantees", "../main/guarantees.yaml")
REPORTS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("mutation", "--bundle", "../main/generated/bundle", "--guarantees", "../main/guarantees.yaml"), 0),
    (("mutation", *NEW), 0),
    ((*DIFF, "--format", "markdown"), 1),
    (("guarantees", "generated/bundle", "--file", "../main/guarantees.yaml", "-q"), 1),
    (("findings", *NEW), 1),
)
BROKEN = "no-silent-read-elsewhere"


def tell(told: Transcript, arguments: Sequence[str], ended: Ended, code: int) -> str:
    shown = f"{ended.out}{ended.err}"
    assert ended.code == code, shown
    told.show(f"$ ironcurtain {' '.join(arguments)}\n{shown.rstrip()}\n[exit {code}]", "console")
    return shown


def listed(inside: Inside, server: str, project: Path) -> str:
    ended = inside("tools", server, cwd=project)
    assert ended.code == 0, ended.err
    return ended.out


def reports(project: Widened) -> list[Ended]:
    """Run the reports beside each other, as programs of their own."""
    with ThreadPoolExecutor(len(REPORTS)) as pool:
        return list(pool.map(lambda each: program(*each[0], cwd=project.change), REPORTS))


def show_the_word(told: Transcript, project: Widened) -> None:
    names = ["../main/constitution.md", "constitution.md"]
    changed = subprocess.run(
        ["diff", *names], cwd=project.change, capture_output=True, text=True, check=False
    )
    assert changed.returncode == 1
    told.show(f"$ diff {' '.join(names)}\n{changed.stdout}", "console")


def test_a_directory_that_is_wider_by_one_word(tmp_path: Path, inside: Inside) -> None:
    told = Transcript(
        "widened-by-one-word",
        "Wider by one word",
        "One word of the shipped constitution is changed, and compiled: what stops it, and what a reviewer\n"
        "sees who gets it all the same. `main` is the shipped project, the commands run in a changed copy of it.\n"
        "A test runs all this again and compares. Times and digests are left out.",
    )
    project = widened(tmp_path, lambda server, directory: listed(inside, server, directory))

    def compiled(code: int) -> str:
        return tell(told, COMPILE, inside(*COMPILE, cwd=project.change), code)

    told.say(
        "The word",
        "The questions of the compile are answered as before, but for one rule: it names `/` in place of\n"
        "`~/Documents`.",
    )
    show_the_word(told, project)

    told.say("The scenarios refuse it")
    shown = compiled(1)
    failing = re.findall(r"^(\S+) +escalate +allow +filesystem-allow-read-documents ", shown, re.MULTILINE)
    assert failing

    told.say(
        "The guarantee refuses it",
        f"Somebody takes the {len(failing)} scenarios away, since they say what the constitution said before.",
    )
    project.take_away("scenarios.yaml", failing)
    assert BROKEN in compiled(1)

    told.say("Published without either", "They take the guarantee away, too. Now nothing is in the way.")
    project.take_away("guarantees.yaml", [BROKEN])
    compiled(0)

    before, after, diff, guarantees, findings = (
        (arguments, ended, code) for (arguments, code), ended in zip(REPORTS, reports(project), strict=True)
    )
    told.say(
        "What the review shows",
        "Which calls are decided otherwise, with the guarantees of `main`, which the change does not get to choose:",
    )
    assert "read-path" in tell(told, *diff)
    told.say("The guarantee that it breaks", "With the smallest call that shows it:")
    assert BROKEN in tell(told, *guarantees)
    told.say("The finding that it causes", "A sentence of the constitution decides nothing any more:")
    assert "filesystem-ask-read-elsewhere" in tell(told, *findings)
    told.say("What nothing would notice, before", "Every small change of the shipped policy is noticed:")
    assert ", 0 survived," in tell(told, *before)
    told.say(
        "What nothing would notice, after", "With the scenarios and the guarantee went what noticed others:"
    )
    assert "\nsurvived " in tell(told, *after)
    told.check()
