"""Open questions: what checks and models could not decide, as one concrete call that a person decides.

A compile leaves them in a file; `ironcurtain answer` lists them and records what people say. An answer is
a scenario of origin `answer` in `answers.yaml`: ground truth, as binding as a handwritten one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from ironcurtain.compiler.llm.question_files import Waiting
from ironcurtain.compiler.scenarios.generated import call_key
from ironcurtain.compiler.scenarios.text import item_text
from ironcurtain.errors import FormatError, ScenarioError, UsageError, raise_all
from ironcurtain.model.caller_facts import CallerFact
from ironcurtain.model.scenarios import Scenario, ScenarioCall, Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, has_content, load, parse_document, read_text
from ironcurtain.system.frozen import Frozen, JsonValue, Slug
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import marked, quoted, visible

OPEN_FILE = "open-questions.json"
_HEADER = """\
# What people answered with `ironcurtain answer`: ground truth, like the handwritten scenarios.
# No compile changes this file. To take an answer back, delete it here.
format: ironcurtain/scenarios/v1
scenarios:
"""
_ASKED = {
    (Verdict.ALLOW, Verdict.ESCALATE): "May the agent do this without asking a person?",
    (Verdict.ALLOW, Verdict.DENY): "May the agent do this?",
    (Verdict.ESCALATE, Verdict.DENY): "May the agent do this after a person has approved it?",
}


class OpenQuestion(Frozen):
    """A yes/no question with one concrete call.

    Attributes:
        id: What `ironcurtain answer` is told: `q` and eight digits of the call's digest.
        yes: The looser verdict, for "yes".
        no: The stricter verdict, for "no".
        clause: The clause that the call is about, if one is known.
        why: Where the doubt comes from.
    """

    id: Slug
    call: ScenarioCall
    yes: Verdict
    no: Verdict
    clause: str | None = None
    why: str = ""


class OpenQuestions(Frozen):
    """The file of open questions, beside the questions to a person that answers for a model."""

    format: Literal["ironcurtain/open-questions/v1"] = "ironcurtain/open-questions/v1"
    questions: tuple[OpenQuestion, ...] = ()


class WaitingQuestions(Frozen):
    """All that a compile waits for: questions about one call, and questions in files.

    Attributes:
        questions: Answered with `ironcurtain answer ID yes|no`.
        files: Answered by a file beside the question's.
    """

    format: Literal["ironcurtain/waiting-questions/v1"] = "ironcurtain/waiting-questions/v1"
    questions: tuple[OpenQuestion, ...] = ()
    files: tuple[Waiting, ...] = ()


def ask_about(
    call: ScenarioCall, verdicts: Iterable[Verdict], *, clause: str | None, why: str
) -> OpenQuestion:
    """Return the question between the two loosest of at least two different verdicts."""
    looser, stricter, *_ = sorted(set(verdicts), key=lambda verdict: verdict.severity)
    id_ = f"q{hashlib.sha256(call_key(call)).hexdigest()[:8]}"
    return OpenQuestion(id=id_, call=call, yes=looser, no=stricter, clause=clause, why=why)


class Known(Struct):
    """What a person is told beside a question.

    Attributes:
        clauses: The clauses' own words, by id.
        caller: What is declared about the caller, by key.
    """

    clauses: Mapping[str, str] = field(default_factory=dict)
    caller: Mapping[str, CallerFact] = field(default_factory=dict)


def question_lines(question: OpenQuestion, known: Known) -> list[str]:
    """Return a question as lines of plain text; every argument is shown in full."""
    call = question.call
    lines = [
        f"{question.id}  {_ASKED[question.yes, question.no]}  yes = {question.yes}, no = {question.no}",
        f"    {visible(call.server)} {visible(call.tool)} {_json(call.arguments)}",
    ]
    said = [f"{visible(name)} = {_json(value)}" for name, value in (call.caller or {}).items()]
    lines.append(f"    caller: {', '.join(said) or 'nothing is known of the person whom the agent acts for'}")
    lines += [
        f"      {visible(name)}: {visible(known.caller[name].meaning)}"
        for name in call.caller or {}
        if name in known.caller
    ]
    if question.clause is not None and question.clause in known.clauses:
        lines.append(f"    {question.clause}: {visible(known.clauses[question.clause])}")
    if question.why:
        lines.append(f"    {visible(question.why)}")
    return lines


def _json(value: JsonValue) -> str:
    return marked(json.dumps(value, ensure_ascii=False))


def write_open(path: Path, questions: Sequence[OpenQuestion]) -> None:
    """Write the open questions; with none the file goes."""
    if not questions:
        path.unlink(missing_ok=True)
        return
    document = OpenQuestions(questions=tuple(questions)).model_dump(mode="json")
    atomic_write(path, json_text.pretty(document).encode())


def read_open(path: Path) -> tuple[OpenQuestion, ...]:
    """Read the open questions.

    Raises:
        FormatError: If the file is none of ours.
    """
    return load(path, OpenQuestions).questions if path.exists() else ()


def read_answers(path: Path) -> tuple[Scenario, ...]:
    """Read what people answered, as scenarios of origin `answer`.

    Raises:
        FileError, FormatError: If something is wrong with the file.
    """
    if not has_content(path):
        return ()
    return parse_answers(read_text(path), str(path))


def with_answers(handwritten: Scenarios, answers: Sequence[Scenario], where: str) -> Scenarios:
    """Return the handwritten scenarios and the answers: all that no model may change.

    Raises:
        ScenarioError: For each answer that has the id of a handwritten scenario, or says the opposite
            of one.
    """
    known = {entry.id for entry in (*handwritten.entries, *handwritten.calls)}
    demanded = {call_key(scenario.call): scenario for scenario in handwritten.scenarios}
    errors = [
        ScenarioError(
            f"two scenarios have the id {quoted(answer.id)}", where=where, hint="Give one another id."
        )
        for answer in answers
        if answer.id in known
    ]
    errors += [
        ScenarioError(
            f"the answer {quoted(answer.id)} says {answer.expect}, the scenario {quoted(other.id)} says "
            f"{other.expect} of the same call",
            where=where,
            hint="Delete one of them.",
        )
        for answer in answers
        if (other := demanded.get(call_key(answer.call))) is not None and other.expect is not answer.expect
    ]
    raise_all([*errors])
    return handwritten.with_more(answers)


def record_answer(path: Path, question: OpenQuestion, verdict: Verdict, why: str) -> Scenario:
    """Append an answer to `answers.yaml`, at once or not at all; what stands in the file stays as it is.

    The file is made if there is none; `why` may be empty.

    Raises:
        FileError, FormatError: If the file is not one that can be appended to.
        UsageError: If it answers this call already.
    """
    is_new = not has_content(path)
    text = _HEADER if is_new else read_text(path)
    before = () if is_new else parse_answers(text, str(path))
    if any(call_key(known.call) == call_key(question.call) for known in before):
        raise UsageError(
            f"{path.name} answers this call already", where=str(path), hint="Change the answer there."
        )
    answer = Scenario(
        id=f"answer.{question.id}",
        call=question.call,
        expect=verdict,
        clause=question.clause,
        why=why,
        origin="answer",
    )
    appended = text.rstrip("\n") + "\n" + item_text(answer)
    # People write this file, too: what cannot be appended to without a change in meaning stays as it is.
    if _read_back(appended, str(path)) != (*before, answer):
        raise FormatError(
            "an answer cannot be appended to this file",
            where=str(path),
            hint='Keep "scenarios:" as its last key, its items indented by two spaces.',
        )
    atomic_write(path, appended.encode())
    return answer


def parse_answers(text: str, source: str) -> tuple[Scenario, ...]:
    """Read answers from the text of their file.

    Raises:
        FormatError: For each mistake.
    """
    read = parse_document(text, source, Scenarios)
    if "world" in read.model_fields_set:
        raise FormatError(
            "answers have no world of their own", where=source, hint="They hold in that of the scenarios."
        )
    if read.stepped:
        raise FormatError(
            f"the answer {quoted(read.stepped[0].id)} has steps",
            where=source,
            hint="An answer is about one call; write scenarios with steps into the scenarios' file.",
        )
    return tuple(scenario.model_copy(update={"origin": "answer"}) for scenario in read.scenarios)


def _read_back(text: str, source: str) -> tuple[Scenario, ...] | None:
    try:
        return parse_answers(text, source)
    except FormatError:
        return None
