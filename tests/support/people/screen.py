"""A terminal's screen: what stands there, and what has scrolled off it, after all that was written."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\r|\n|\x08|[^\x1b\r\n\x08]+")


def shown(written: str, rows: int) -> list[str]:
    """Return the lines of a terminal, the oldest first; what has scrolled off can no longer be changed.

    Args:
        written: What a program wrote there: text, line ends, and the sequences that move, go up, and erase.
        rows: Of the screen.
    """
    lines, row, column = [""], 0, 0
    for token in _TOKEN.finditer(written):
        count = int(token[1]) if (token[1] or "").isdigit() else 1
        match token[0], token[2]:
            case "\r", _:
                column = 0
            case "\x08", _:
                column = max(0, column - 1)
            case "\n", _:
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            case _, "A":
                row = max(row - count, len(lines) - rows, 0)
            case _, "K":
                lines[row] = ""
            case _, "J":
                lines[row:] = [lines[row][:column]]
            case _, "C":
                column += count
            case _, "D":
                column = max(0, column - count)
            case text, None:
                lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
                column += len(text)
    return [line.rstrip() for line in lines]
