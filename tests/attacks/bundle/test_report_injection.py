"""Names and texts of strangers in reports: none becomes a workflow command, markup, XML or a mention.

Held by: the escapes of each format, and one place where text becomes a report.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import jsonschema
import pytest
from markdown_it import MarkdownIt
from support.oracles.report_schemas import JUNIT, SARIF

from ironcurtain.analysis.diff.report import Change, Difference
from ironcurtain.cli.output.reports import RENDERERS
from ironcurtain.compiler.verify.gate_report import Check, GateReport, Problem
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system.text import is_hidden

HOSTILE = {
    "line-feed": "a\n::error::owned",
    "carriage-return": "a\r::set-output name=x::owned",
    "old-command": "a ##[set-env name=PATH]owned",
    "stop-commands": "\n::stop-commands::x",
    "percent": "%0A::error::owned %25 %",
    "colon-and-comma": "a,line=1::owned,title=x:y",
    "separator": "::warning file=x::",
    "xml": "]]><failure/>&lt;x a='\"'",
    "nul-and-escape": "\x00\x1b[31mred\x1b[0m\x07",
    "bidi": "\u202eabc\u2066",
    "lone-surrogate": "a\ud800b",
    "not-a-character": "a\ufffe\uffffb",
    "html": "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "markdown": "[x](javascript:alert(1)) ![y](http://evil/) `z` **b** | c | \n# d",
    "mention": "@everyone and @org/team, see https://evil.example www.evil.example #1",
    "code-fence": "```\n~~~\n<b>",
    "backslash": "\\` \\| \\\\",
}


def report_of(text: str) -> GateReport:
    """Return a report that has a text of a stranger's wherever one can stand."""
    problem = Problem(
        id=text,
        message=f"it says {text}",
        clause=text,
        file=text,
        line=3,
        details=(text,),
        suggestion=text,
    )
    change = Change(
        id="0" * 12,
        direction="loosened",
        tools=(f"s/{text}",),
        roles=("read-path",),
        where=(text,),
        when=(text,),
        old_rules=(text,),
        new_rules=(text,),
        note=text,
    )
    world = DescribedWorld(home="/home/user")
    return GateReport.model_construct(
        command="verify",
        ok=False,
        revision=f"sha256:{'0' * 64}",
        against=f"sha256:{'1' * 64}",
        engine_version="1.22.2",
        checks=(
            Check(name="scenarios", status="failed", summary=text, cases=(text,), problems=(problem,)),
            Check(name=text, status="failed", summary=text),
        ),
        clauses={text: text},
        difference=Difference(
            old_revision="a",
            new_revision="b",
            exactness="sampled",
            reasons=(text,),
            changes=(change,),
            world=world,
        ),
    )


def commands(output: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Read workflow commands as GitHub's runner reads them (`ActionCommand.TryParseV2`)."""
    for line in output.splitlines():
        stripped = line.lstrip()
        if not stripped.startswith("::"):
            assert "##[" not in line
            continue
        about, separator, data = stripped[2:].partition("::")
        assert separator, line
        name, _, properties = about.partition(" ")
        pairs = [each.partition("=") for each in properties.split(",") if each]
        read = {key.strip(): unescaped(value).replace("%3A", ":") for key, _, value in pairs}
        yield name, read, unescaped(data)


def unescaped(text: str) -> str:
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escape, character)
    return text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_workflow_command_stays_one_command(text: str) -> None:
    output = RENDERERS["github"](report_of(text))
    assert output.count("\n") == 3
    first, second, last = commands(output)
    assert [each[0] for each in (first, second, last)] == ["error", "error", "notice"]
    assert set(first[1]) == {"file", "line", "title"}
    assert first[1]["line"] == "3"
    assert set(second[1]) == {"title"}
    assert first[2].startswith("it says ")


def test_what_was_escaped_reads_as_it_was() -> None:
    name = "dir,with:odd%names=/a.md"
    problem = Problem(id="x", message="100% wrong: a,b", file=name, line=1)
    check = Check(name="c", status="failed", summary="s", problems=(problem,))
    plain = report_of("x").model_copy(update={"checks": (check,), "difference": None})
    (_, properties, data), _ = commands(RENDERERS["github"](plain))
    assert properties["file"] == name
    assert data == "100% wrong: a,b"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_xml_and_sarif_stay_what_they_are(text: str) -> None:
    xml = RENDERERS["junit"](report_of(text))
    JUNIT.validate(xml)
    root = ET.fromstring(xml)
    assert [suite.get("tests") for suite in root] == ["1", "1"]
    assert len(root.findall(".//failure")) == 2
    log = json.loads(RENDERERS["sarif"](report_of(text)))
    jsonschema.Draft4Validator(SARIF, format_checker=jsonschema.FormatChecker()).validate(log)
    uri = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert not set(uri) & set(' :<>"\\\n\r')


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_markdown_shows_text_and_nothing_else(text: str) -> None:
    markdown = RENDERERS["markdown"](report_of(text))
    tokens = MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(markdown)
    inner = [each for token in tokens for each in (*(token.children or ()), token)]
    kinds = {token.type for token in inner}
    assert not kinds & {"link_open", "image", "fence", "code_block", "html_block", "s_open", "em_open"}
    assert {token.content for token in inner if token.type == "html_inline"} <= {"<!-- -->"}
    # The headings and the bold words are ours alone.
    headings = [inner[i + 1].content for i, token in enumerate(inner) if token.type == "heading_open"]
    assert len(headings) <= 8
    assert len([token for token in tokens if token.type == "heading_open"]) == 3
    shown = "".join(token.content for token in inner if token.type == "text")
    assert "@everyone" not in markdown
    assert not [character for character in shown if character != "\n" and is_hidden(character)]


@pytest.mark.parametrize("format_", RENDERERS)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_terminal_is_driven(format_: str, text: str) -> None:
    output = RENDERERS[format_](report_of(text))
    assert not [character for character in output if character != "\n" and is_hidden(character)]
