"""YAML: reading documents that people write, and finding the place of a mistake in one.

Apart from `files`, which loads it when a file is YAML or has a mistake: enforcement needs neither, and
the parser is slow to load.
"""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scanner import Scanner, ScannerError

from ironcurtain.errors import FormatError, Place
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

_UNFOLDED = 1 << 30


class _BoundedScanner(Scanner):
    """Ends where brackets are nested deeper than in any JSON; until Python gives up, seconds pass."""

    def fetch_flow_collection_start(self, TokenClass: Any, to_push: str) -> None:  # noqa: ANN401, N803 - as there
        if len(self.flow_context) >= json_text.MAX_DEPTH:
            problem = f"nested deeper than {json_text.MAX_DEPTH} levels"
            raise ScannerError(problem=problem, problem_mark=self.reader.get_mark())
        super().fetch_flow_collection_start(TokenClass, to_push)


def parse(text: str, source: str) -> JsonValue:
    """Parse a YAML document that holds nothing but JSON values.

    Raises:
        FormatError: With the place of the mistake, where it has one.
    """
    try:
        value: JsonValue = _reader("safe").load(text)
        json_text.check(value, any_double=True)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source)
        raise FormatError(f"not valid YAML: {error.problem}", where=place) from None
    except (YAMLError, ValueError, TypeError, RecursionError) as error:  # its constructors let these out
        raise FormatError(f"not valid YAML: {visible(str(error))}", where=source) from None
    return value


def nodes(text: str) -> Any:  # noqa: ANN401 - the parser's own nodes
    """Return the nodes of a document that `parse` reads, each with the places of its start and its end."""
    return _reader("rt").compose(text)


def _reader(kind: str) -> YAML:
    reader = YAML(typ=kind, pure=True)
    reader.Scanner = _BoundedScanner
    return reader


def written(value: JsonValue) -> str:
    """Return a value as people write it: in blocks, which `parse` reads as the same value."""
    stream = io.StringIO()
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    if "\\u0085" in json.dumps(value):  # a line's end to the library, which folds escapes wrongly, too
        writer.allow_unicode, writer.width = False, _UNFOLDED
    writer.dump(value, stream)
    return stream.getvalue()


@functools.lru_cache(maxsize=2)
def _placed(text: str) -> Any:  # noqa: ANN401 - whatever the document holds
    """Return a document with the places of its values; a file with one mistake often has more."""
    return YAML(typ="rt").load(io.StringIO(text))


def place_of(text: str, source: str, steps: Sequence[str | int]) -> Place:
    """Find the line and column of a value by its path; JSON is read as the YAML that it is."""
    try:
        node = _placed(text)
    except YAMLError:
        return Place(source)
    line = column = 0
    for step in steps:
        try:
            line, column = node.lc.item(step) if isinstance(step, int) else node.lc.value(step)
            node = node[step]
        except (KeyError, IndexError, TypeError, AttributeError):
            break
    return Place(source, line + 1, column + 1)
