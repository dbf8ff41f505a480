from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.approvals import written

from ironcurtain.enforcement.approvals.describe import columns_of
from ironcurtain.enforcement.approvals.messages import ApprovalRequest, ApprovalStatus
from ironcurtain.enforcement.approvals.rows import rows
from ironcurtain.model.decision import SubjectDecision
from ironcurtain.model.verdict import Verdict

LONG = "/srv/" + "directory/" * 30 + "file.txt"
FORGED = "0123456789abcdef  9:59 left  s write_file"


def subject(role: str, value: str, verdict: Verdict = Verdict.ESCALATE) -> SubjectDecision:
    return SubjectDecision(at="/x", role=role, value=value, verdict=verdict, rule="r")


def shown(request: ApprovalRequest, width: int | None) -> list[str]:
    status = ApprovalStatus(id=request.id, state="pending", request=request)
    return rows(status, request.asked + timedelta(seconds=18), width)


def about(*subjects: SubjectDecision, **other: Any) -> ApprovalRequest:
    return written().model_copy(update={"subjects": subjects, **other})


def test_a_row_says_what_the_call_is_about_in_one_wide_line() -> None:
    request = written("/srv/docs/a.txt")
    [line] = shown(request, 200)
    assert line.startswith(f'{request.id}  9:42 left   s write_file  changes "/srv/docs/a.txt"  ')


def test_a_narrow_row_breaks_between_its_parts() -> None:
    request = written("/srv/docs/a.txt")
    lines = shown(request, 50)
    assert lines[0] == f"{request.id}  9:42 left   s write_file"
    assert lines[1] == '    | changes "/srv/docs/a.txt"'


@pytest.mark.parametrize("width", [24, 50, 80, 200])
@pytest.mark.parametrize(
    "path", [LONG, "/srv/" + "長い名前" * 20, "/srv/" + "שלום " * 30, f"/srv/\n{FORGED}"]
)
def test_no_line_of_a_row_is_wider_than_the_terminal(path: str, width: int) -> None:
    request = about(subject("write-path", path))
    first, *others = shown(request, width)
    assert first.startswith(request.id)
    assert all(line.startswith(("    | ", "    : ")) for line in others)
    for line in (first, *others):
        assert sum(columns_of(each) for each in line if each not in "\u2068\u2069") <= width


def test_where_no_terminal_is_a_row_is_one_line() -> None:
    assert len(shown(about(subject("write-path", LONG)), None)) == 1


@pytest.mark.parametrize(
    ("subjects", "said"),
    [
        ([subject("read-path", "/etc/hostname")], 'reads "/etc/hostname"'),
        ([subject("fetch-url", "https://a.example/x?q=1")], 'contacts "https://a.example/x?q=1"'),
        (
            [subject("read-path", "/a", Verdict.ALLOW), subject("write-path", "/b")],
            'changes "/b", reads "/a"',
        ),
        ([subject("read-path", "/a"), subject("delete-path", "/a")], 'reads and deletes "/a"'),
        ([subject("write-path", "/a"), subject("write-path", "/b")], 'changes "/a", "/b"'),
        ([subject("channel", "#general")], 'is about the channel "#general"'),
        ([subject("read-path", f"/{n}") for n in range(9)], 'reads "/0", "/1", "/2", and 6 more'),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_resources_stand_in_a_row_in_canonical_form(subjects: list[SubjectDecision], said: str) -> None:
    assert f"  {said}  " in shown(about(*subjects), None)[0]


@pytest.mark.parametrize(
    ("side_effects", "said"), [(True, "may change something"), (False, "changes nothing")]
)
def test_a_call_that_names_nothing(side_effects: bool, said: str) -> None:
    nothing = subject("none", "")
    assert f"  {said}  " in shown(about(nothing, side_effects=side_effects), None)[0]


def test_a_name_that_looks_like_columns_is_quoted() -> None:
    request = written().model_copy(update={"tool": "read  9:59 left  x"})
    assert 's "read  9:59 left  x"' in shown(request, None)[0]
