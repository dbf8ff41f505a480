"""The decision matrix as one self-contained page with filters; it loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from ironcurtain.analysis.clauses.outcomes_text import outcome_words
from ironcurtain.analysis.clauses.report import ClauseOutcome, ClauseReport
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.matrix.report import Matrix, Row, RowOutcome
from ironcurtain.analysis.matrix.text import caller_lines, exactness_mark
from ironcurtain.system.text import printable, visible

_STYLE = """
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:76rem;padding:0 1rem;color:#1b1f24}
form{display:flex;gap:1rem;flex-wrap:wrap;position:sticky;top:0;background:#fff;padding:.7rem 0}
label{display:flex;flex-direction:column;font-size:.8rem}
select{font:inherit;min-width:11rem}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #d8dee4}
.allow{color:#116329}.escalate{color:#7d4e00}.deny{color:#a40e26}
.sampled{background:#fff8c5}
@media (prefers-color-scheme:dark){body,form{background:#0d1117;color:#e6edf3}th,td{border-color:#30363d}
.allow{color:#3fb950}.escalate{color:#d29922}.deny{color:#f85149}.sampled{background:#3b2e00}}
"""
_SCRIPT = """
const form=document.querySelector('form'),rows=[...document.querySelectorAll('#decisions tr')];
const count=document.querySelector('#count');
function show(){let shown=0;const wanted=[...form.elements].filter(e=>e.name&&e.value);
for(const row of rows){const fits=wanted.every(e=>JSON.parse(row.dataset[e.name]).includes(e.value));
row.hidden=!fits;shown+=fits}count.textContent=shown+' of '+rows.length+' lines'}
form.addEventListener('change',show);show();
"""
_FILTERS = ("tool", "role", "verdict", "clause")


def html_page(matrix: Matrix, clauses: ClauseReport) -> str:
    """Return the matrix as an HTML page, with what becomes of each clause."""
    lines = list(_lines(matrix))
    options = {name: sorted({value for line in lines for value in line.values[name]}) for name in _FILTERS}
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8"><title>Decision matrix</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{_STYLE}</style></head><body><h1>What the policy decides</h1>",
            f"<p>Assumed: home {_text(matrix.world.home)}, sandbox {_text(matrix.world.sandbox or 'none')}.",
            "Of several places that cover something, the most specific one counts.</p>",
            *(f"<p>caller {escape(line)}</p>" for line in caller_lines(matrix)),
            *_reasons(matrix),
            f"<form>{''.join(_filter(name, options[name]) for name in _FILTERS)}</form>",
            '<p id="count" role="status"></p>',
            "<table><thead><tr><th>tools<th>role<th>where<th>when<th>verdict<th>clause<th>floor</tr></thead>",
            f'<tbody id="decisions">{"".join(line.html for line in lines)}</tbody></table>',
            "<h2>What becomes of each clause</h2>",
            "<table><thead><tr><th>clause<th>outcome<th>words</tr></thead>",
            f'<tbody id="clauses">{"".join(map(_clause, clauses.clauses))}</tbody></table>',
            f"<script>{_SCRIPT}</script></body></html>",
            "",
        ]
    )


def _clause(found: ClauseOutcome) -> str:
    place = f"{found.clause.file}:{found.clause.line}" if found.clause.line else ""
    sampled = any(asked.proof in (Proof.NOT_FOUND, Proof.NOT_EXAMINED) for asked in found.asked)
    mark = ' class="sampled"' if sampled else ""
    cells = (
        f"{_text(found.clause.id)}<br>{_text(place)}",
        _text(outcome_words(found)),
        _text(found.clause.text),
    )
    return f"<tr{mark}>{''.join(f'<td>{cell}' for cell in cells)}</tr>\n"


class _Line:
    """One line of the table, with what the filters look at."""

    def __init__(self, server: str, tools: Iterable[str], row: Row, outcome: RowOutcome) -> None:
        names = [f"{server}/{tool}" for tool in tools]
        verdict = outcome.verdict.value
        self.values = {
            "tool": names,
            "role": list(row.roles),
            "verdict": [verdict],
            "clause": [outcome.clause or "none"],
        }
        data = " ".join(f'data-{name}="{_data(values)}"' for name, values in self.values.items())
        mark = ' class="sampled"' if row.exactness != "exact" else ""
        cells = [
            "<br>".join(map(_text, names)),
            "<br>".join(map(_text, row.roles)),
            "<br>".join(map(_text, row.where)),
            "<br>".join(escape(printable(words)) for words in outcome.when),
            f'<span class="{verdict}">{verdict}</span>{exactness_mark(row)}',
            _text(outcome.clause or ""),
            _text(row.floor or ""),
        ]
        self.html = f"<tr {data}{mark}>{''.join(f'<td>{cell}' for cell in cells)}</tr>\n"


def _lines(matrix: Matrix) -> Iterator[_Line]:
    for server, tables in matrix.servers.items():
        for table in tables:
            for row in table.rows:
                for outcome in row.outcomes:
                    yield _Line(server, table.tools, row, outcome)


def _reasons(matrix: Matrix) -> Iterator[str]:
    """Yield, for tools about which something may have been missed, why."""
    for server, tables in matrix.servers.items():
        for table in tables:
            names = ", ".join(_text(f"{server}/{tool}") for tool in table.tools)
            for reason in table.reasons:
                prefix = "" if table.exactness == "not examined" else "Sampled, not exact: "
                yield f'<p class="sampled">{prefix}{names}: {_text(reason)}.</p>'


def _filter(name: str, values: Iterable[str]) -> str:
    options = "".join(f'<option value="{escape(visible(value))}">{_text(value)}</option>' for value in values)
    every = '<option value="">all</option>'
    return f'<label>{name}<select name="{name}" aria-label="{name}">{every}{options}</select></label>'


def _text(value: str) -> str:
    return escape(visible(value))


def _data(values: Iterable[str]) -> str:
    quoted = ", ".join(
        '"' + visible(value).replace("\\", "\\\\").replace('"', '\\"') + '"' for value in values
    )
    return escape(f"[{quoted}]")
