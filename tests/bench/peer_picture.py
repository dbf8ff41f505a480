"""The picture of warm decisions beside their peers: plain SVG, readable on light and on dark pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT = 410, 280
_LEFT, _TOP, _INSIDE, _DOWN = 84, 60, 280, 190
_MARKS = ("circle", "square", "diamond", "triangle")
_STYLE = """
text { font: 12px sans-serif; fill: #24292f } .grid { stroke: #8888; stroke-width: .5 }
.line { fill: none; stroke-width: 2 } .s0 { stroke: #0969da } .s1 { stroke: #bc4c00 }
.s2 { stroke: #1a7f37 } .s3 { stroke: #8250df } .mark, .page { fill: #fff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .s0 { stroke: #58a6ff } .s1 { stroke: #f0883e } .s2 { stroke: #56d364 }
  .s3 { stroke: #bc8cff } .mark, .page { fill: #0d1117 } }
"""


@dataclass(frozen=True)
class Point:
    """The median of one subject, in milliseconds."""

    subject: str
    rules: int
    resources: int
    milliseconds: float


def picture(points: Sequence[Point], rules: Sequence[int], resources: Sequence[int]) -> str:
    """Return an SVG with a panel for each number of resources; both axes are logarithmic."""
    subjects = list(dict.fromkeys(point.subject for point in points))
    low = math.floor(math.log10(min(point.milliseconds for point in points)))
    high = math.ceil(math.log10(max(point.milliseconds for point in points)))
    body = ['<rect class="page" width="100%" height="100%"/>', _legend(subjects)]
    for number, count in enumerate(resources):
        panel = _panel([p for p in points if p.resources == count], rules, subjects, (low, high))
        title = f"{count} path{'s' if count > 1 else ''} in a call"
        place = f'transform="translate({number * _WIDTH},20)"'
        body.append(f'<g {place}><text x="{_LEFT}" y="50">{title}</text>{panel}</g>')
    size = f'width="{_WIDTH * len(resources)}" height="{_HEIGHT + 30}"'
    named = "<title>Milliseconds of a warm decision by number of rules, beside peers</title>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{named}<style>{_STYLE}</style>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _legend(subjects: Sequence[str]) -> str:
    items = []
    for number, subject in enumerate(subjects):
        x = 14 + number * 200
        items.append(_mark(number, x, 16))
        items.append(f'<text x="{x + 10}" y="20">{escape(subject)}</text>')
    return "".join(items)


def _panel(
    points: Sequence[Point], rules: Sequence[int], subjects: Sequence[str], powers: tuple[int, int]
) -> str:
    low, high = powers

    def x(count: int) -> float:
        first, last = math.log(rules[0]), math.log(rules[-1])
        return _LEFT + (math.log(count) - first) / (last - first) * _INSIDE

    def y(milliseconds: float) -> float:
        return _TOP + (high - math.log10(milliseconds)) / (high - low) * _DOWN

    drawn = []
    for power in range(low, high + 1):
        at = y(10**power)
        drawn.append(f'<path class="grid" d="M{_LEFT} {at:.1f}h{_INSIDE}"/>')
        drawn.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{10**power:g} ms</text>')
    for count in rules:
        below = _TOP + _DOWN + 18
        drawn.append(f'<text x="{x(count):.1f}" y="{below}" text-anchor="middle">{count:,} rules</text>')
    for number, subject in enumerate(subjects):
        line = [(x(p.rules), y(p.milliseconds)) for p in points if p.subject == subject]
        path = "L".join(f"{across:.1f} {down:.1f}" for across, down in line)
        drawn.append(f'<path class="line s{number}" d="M{path}"/>')
        drawn += [_mark(number, across, down) for across, down in line]
    return "".join(drawn)


def _mark(number: int, x: float, y: float) -> str:
    """Draw one point; the shape tells the subjects apart where colours do not."""
    kind = f'class="mark s{number}" stroke-width="2"'
    shape = _MARKS[number]
    if shape == "circle":
        return f'<circle {kind} cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
    steps = {
        "square": "m-4 -4h8v8h-8z",
        "diamond": "m0 -5l5 5l-5 5l-5 -5z",
        "triangle": "m0 -5l5 9h-10z",
    }[shape]
    return f'<path {kind} d="M{x:.1f} {y:.1f}{steps}"/>'
