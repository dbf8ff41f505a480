from __future__ import annotations

import pytest
from support.approvals import written
from unit.enforcement.approvals.test_rows import subject

from ironcurtain.enforcement.approvals.describe import describe
from ironcurtain.enforcement.approvals.effects import effect_of
from ironcurtain.model.decision import SubjectDecision

READ, WRITE = subject("read-path", "/a"), subject("write-path", "/b")
URL = subject("git-remote-url", "https://a.example/r.git")
CALL = subject("none", "")
UNKNOWN = (
    "What this call changes is not known: it names nothing, and its tool is annotated to change something."
)


UNKNOWN_TOO = "Whether it changes something as well is not known."


@pytest.mark.parametrize(
    ("subjects", "side_effects", "said"),
    [
        ([READ], False, 'This call reads "/a". It changes nothing, as its tool is annotated.'),
        (
            [READ],
            True,
            'This call reads "/a". Whether it changes something as well is not known.',
        ),
        ([WRITE], True, 'This call changes "/b".'),
        ([READ, WRITE], True, 'This call reads "/a", changes "/b".'),
        # An annotation that contradicts itself is not believed where it says the lesser.
        ([WRITE], False, 'This call changes "/b".'),
        (
            [URL],
            False,
            'This call contacts "https://a.example/r.git". It changes nothing, as its tool is annotated.',
        ),
        ([CALL], False, "This call changes nothing, as its tool is annotated."),
        (
            [CALL],
            True,
            UNKNOWN,
        ),
    ],
)
def test_effects_are_said_no_further_than_they_are_known(
    subjects: list[SubjectDecision], side_effects: bool, said: str
) -> None:
    known = {"subjects": tuple(subjects), "side_effects": side_effects, "contained": False}
    request = written().model_copy(update=known)
    assert effect_of(request) == said
    shown = describe(request, width=400)
    assert f"  effects:\n    | {said}\n" in shown


def test_a_read_is_no_change() -> None:
    request = written().model_copy(update={"subjects": (READ,), "side_effects": False})
    assert "it changes or contacts something" not in describe(request)


@pytest.mark.parametrize(
    ("subjects", "said"),
    [
        ([READ], 'This call reads "/a". It changes nothing, as its tool is annotated.'),
        ([READ, CALL], 'This call reads "/a". It changes nothing, as its tool is annotated.'),
        ([READ, WRITE], 'This call reads "/a", changes "/b".'),
        (
            [READ, URL],
            f'This call reads "/a", contacts "{URL.value}". {UNKNOWN_TOO}',
        ),
        ([CALL], UNKNOWN),
    ],
)
def test_a_tool_that_acts_at_its_paths_alone_and_reads_them_changes_nothing(
    subjects: list[SubjectDecision], said: str
) -> None:
    known = {"subjects": tuple(subjects), "side_effects": True, "contained": True}
    assert effect_of(written().model_copy(update=known)) == said
