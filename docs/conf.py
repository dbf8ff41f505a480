"""How `make docs` builds the documentation as a site: Sphinx over the Markdown files as they stand.

Lists that are made from code (commands, attacks, well-known servers) or by a program (the results of the
field run) are put below the text of their page.

The source is the whole checkout, so a link means the same on the site as where the files are read as
source. The order of the site is that of the links in `docs/index.md` and in the indexes below it.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version as installed
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from pygments.lexers.data import JsonLexer
from sphinx.application import Sphinx
from sphinx.util.inspect import stringify_signature

from ironcurtain.cli.main import GROUPS, command_of
from ironcurtain.system.structs import Struct

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from field.report import RESULTS
from support.documentation import attack_table, known_page

project = "IronCurtain"
author = "The IronCurtain authors"
release = version = installed("ironcurtain")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinxcontrib.mermaid",
]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "examples/*/README.md", "ironcurtain/**/README.md"]
exclude_patterns = [".*", "node_modules", "generated", "tests"]  # never looked into
default_role = "code"
smartquotes = False  # an option is written --so
suppress_warnings = ["myst.header"]  # the glossary's entries may be headings of the third level

myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

# They cannot be imported while Sphinx has types looked at.
autodoc_mock_imports = ["agents", "langchain", "langchain_core", "langgraph"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # a field that is also a property is described once

html_theme = "furo"
html_title = project
html_copy_source = False

_LINK = re.compile(r"^(?:- |\| )\[([^]]+)\]\((?!https?:)([^)#]+\.md)\)", re.MULTILINE)
_HOME = '<!doctype html>\n<meta http-equiv="refresh" content="0; url=docs/index.html">\n'


def setup(app: Sphinx) -> None:
    """Let the links of the indexes be the site's order, and the groups of `--help` its commands."""
    app.add_lexer("jsonc", JsonLexer)
    app.connect("autodoc-process-signature", _show_as_written)
    app.connect("source-read", _extend)
    app.connect("sphinx-click-process-description", _describe)
    app.connect("sphinx-click-process-options", _escape_options)
    app.connect("html-page-context", _collapse, priority=400)  # before the theme makes its navigation
    app.connect("build-finished", _write_home)


def _show_as_written(
    _app: Sphinx, _what: str, _name: str, documented: object, _options: object, _signature: str, returns: str
) -> tuple[str, str] | None:
    """Show the types of a Struct's fields as they are written: msgspec tells what each alias stands for."""
    if not (inspect.isclass(documented) and issubclass(documented, Struct)):
        return None
    written = {
        name: type_
        for base in reversed(documented.__mro__)
        for name, type_ in inspect.get_annotations(base).items()
    }
    told = inspect.signature(documented)
    fields = [each.replace(annotation=written[each.name]) for each in told.parameters.values()]
    return stringify_signature(told.replace(parameters=fields)), returns


def _extend(app: Sphinx, page: str, source: list[str]) -> None:
    if page in _INDEXES:
        source[0] += "\n```{toctree}\n:maxdepth: 1\n:glob:\n\n*\n```\n"
    elif page.endswith(("/index", "/README")):
        source[0] += "".join(_contents(app, page, part) for part in re.split(r"(?m)^## ", source[0]))
    elif page in _BELOW:
        source[0] += "\n" + _BELOW[page]()


def _contents(app: Sphinx, page: str, part: str) -> str:
    """Return the pages that a part of an index lists, as a table of contents for the site's navigation."""
    folder = (app.srcdir / page).parent
    entries = [
        (title, (folder / link).resolve().relative_to(app.srcdir)) for title, link in _LINK.findall(part)
    ]
    listed = "".join(f"{' '.join(title.split())} </{file.with_suffix('')}>\n" for title, file in entries)
    caption = f":caption: {part.splitlines()[0]}\n" if page == root_doc else ""
    return f"\n```{{toctree}}\n:hidden:\n{caption}\n{listed}```\n" if entries else ""


def _collapse(_app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    """Let the navigation of a page open the part that it is in: all of it on all pages is half of a build."""
    toctree = context["toctree"]
    context["toctree"] = lambda **options: toctree(**{**options, "collapse": True})


def _commands(group: str) -> str:
    directives = "".join(
        f".. click:: {command_of(each).callback.__module__}:command\n"
        f"   :prog: ironcurtain {each}\n   :nested: full\n\n"
        for each in GROUPS[group]
    )
    return f"\n## {group}\n\n```{{eval-rst}}\n{directives}```\n"


_INDEXES = ("docs/decisions/README", "docs/errors/README", "docs/findings/README")
"""What lists all pages of its directory."""
_BELOW = {
    "docs/attacks": attack_table.table,
    "docs/commands": lambda: "".join(map(_commands, GROUPS)),
    "docs/field": RESULTS.read_text,
    "docs/known-servers": known_page.tables,
}
"""What is put below the text of a page."""


# The texts of `--help` are plain: what reStructuredText would take for markup is escaped.


def _describe(_app: Sphinx, _context: click.Context, lines: list[str]) -> None:
    lines[:] = [line for kept, part in groupby(lines, _is_kept) for line in _described([*part], kept=kept)]


def _is_kept(line: str) -> bool:
    """Say whether the line breaks at a line are kept in `--help`."""
    return line.startswith("| ")


def _described(lines: list[str], *, kept: bool) -> Iterator[str]:
    if kept and lines[0].startswith("| Example"):
        yield from (lines[0][2:], "", ".. code-block:: sh", "", *(f"   {line[4:]}" for line in lines[1:]), "")
    elif kept:
        yield from (_escape(" ".join(line[2:].strip() for line in lines)), "")
    else:
        yield from map(_escape, lines)


def _escape_options(_app: Sphinx, _context: click.Context, lines: list[str]) -> None:
    lines[:] = [line if line.lstrip().startswith((".. ", ":")) else _escape(line) for line in lines]


def _escape(line: str) -> str:
    outside = line.split("`")
    outside[::2] = [re.sub(r"[\\*_|]", r"\\\g<0>", text) for text in outside[::2]]
    return "`".join(outside)


def _write_home(app: Sphinx, failure: Exception | None) -> None:
    if failure is None:
        (app.outdir / "index.html").write_text(_HOME)
