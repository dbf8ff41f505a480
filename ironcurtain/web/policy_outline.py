"""The constitution's headings above its sentences, as far as its file is the one that was compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ironcurtain.analysis.explain.report import QuotedClause
from ironcurtain.compiler.load.clauses import read_clauses
from ironcurtain.errors import IronCurtainError
from ironcurtain.system.files import read_text
from ironcurtain.system.structs import Struct, field


class Outline(Struct):
    """The headings above each sentence.

    Attributes:
        above: By the id of a clause, the headings above it, outermost first.
        why_none: Why there are none, where there is a file; else empty.
    """

    above: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    why_none: str = ""


def outline(file: Path, clauses: Iterable[QuotedClause]) -> Outline:
    """Return the headings of a constitution's file above the clauses of a bundle.

    Args:
        file: The file; none of a project is no mistake, as a bundle may come alone.
        clauses: The bundle's clauses.
    """
    if not file.exists():
        return Outline()
    try:
        read = read_clauses(read_text(file), file.name)
    except IronCurtainError as error:
        return Outline(why_none=str(error))
    found = {(each.clause.source, each.clause.text): each.headings for each in read}
    own = [each for each in clauses if each.file == file.name]
    if any((f"{each.file}:{each.line}", each.text) not in found for each in own):
        return Outline(why_none=f"{file.name} was changed since: its headings are not shown.")
    return Outline({each.id: found[f"{each.file}:{each.line}", each.text] for each in own})
