"""Spellings of paths: texts that the kernel, tools or file systems take for the same path."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterator

from ironcurtain.analysis.attack.spellings.spelling import (
    FILE_SYSTEMS,
    FRESH,
    KERNEL,
    TOOLS,
    Scene,
    Spelling,
    SpellingContext,
)

# Letters beyond ASCII that fold to ASCII ones.
_FOLDING = {"s": "\u017f", "k": "\u212a", "S": "\u017f", "K": "\u212a"}
_LINKED_PLACES = 4


def respell_path(text: str, ground: SpellingContext) -> Iterator[Spelling]:
    """Yield spellings of a path; `~` and relative forms become absolute ones first."""
    absolute = absolute_path(text, ground)
    if absolute is None:
        return
    yield from _dots_and_slashes(absolute)
    yield from _relative(absolute, ground)
    yield from _of_tools(absolute)
    yield from _linked(absolute, ground)
    yield from _folded(absolute)


def absolute_path(text: str, ground: SpellingContext) -> str | None:
    """Return a path's absolute text, its links and dots as they are; None where it has none."""
    if text.startswith("/"):
        return text
    if text == "~" or text.startswith("~/"):
        return ground.home + text[1:]
    return f"{ground.root}/{text}" if text and ground.root is not None else None


def _dots_and_slashes(path: str) -> Iterator[Spelling]:
    parent, _, name = path.rstrip("/").rpartition("/")
    if path.rstrip("/"):
        yield Spelling("doubled slashes", KERNEL, path.replace("/", "//"))
        yield Spelling("doubled slashes", KERNEL, f"/{path}")
        yield Spelling("dot segments", KERNEL, path.replace("/", "/./"))
        yield Spelling("dot segments", KERNEL, f"{path.rstrip('/')}/{FRESH}/..")
        yield Spelling("dot segments", KERNEL, f"{parent}/{FRESH}/../{name}")
    yield Spelling("trailing slash", KERNEL, f"{path}/")
    yield Spelling("trailing slash", KERNEL, f"{path}/.")
    yield Spelling("dot segments", KERNEL, f"/{FRESH}/..{path}")
    yield Spelling("dot segments", KERNEL, f"/../..{path}")


def _relative(path: str, ground: SpellingContext) -> Iterator[Spelling]:
    up = "/.." * (ground.home.count("/"))
    yield Spelling("~", TOOLS, f"~{up}{path}")
    if path == ground.home or path.startswith(f"{ground.home}/"):
        yield Spelling("~", TOOLS, f"~{path.removeprefix(ground.home)}")
    if ground.root is None:
        return
    up = "/.." * ground.root.count("/")
    yield Spelling("relative form", KERNEL, f".{up}{path}")
    yield Spelling("relative form", KERNEL, f"{ground.root}{up}{path}")
    if path == posixpath.normpath(path):
        yield Spelling("relative form", KERNEL, posixpath.relpath(path, ground.root))


def _of_tools(path: str) -> Iterator[Spelling]:
    yield Spelling("file URL", TOOLS, f"file://{path}")
    yield Spelling("file URL", TOOLS, f"file://localhost{path}")
    yield Spelling("file URL", TOOLS, f"FILE:{path}")
    yield Spelling("file URL", TOOLS, f"file://{path[:-1]}%{ord(path[-1]) % 256:02x}")
    yield Spelling("end of text", TOOLS, f"{path}\0")
    yield Spelling("end of text", TOOLS, f"{path}\0.txt")
    yield Spelling("process link", KERNEL, f"/proc/self/root{path}")
    yield Spelling("process link", KERNEL, f"/proc/thread-self/root{path}")


def _linked(path: str, ground: SpellingContext) -> Iterator[Spelling]:
    parent, _, name = path.rstrip("/").rpartition("/")
    for place in ground.places[:_LINKED_PLACES]:
        to_it = ground.links.to(path, place)
        yield Spelling("symbolic link", KERNEL, to_it, Scene.LINKED)
        yield Spelling("symbolic link", KERNEL, ground.links.to(to_it, place), Scene.LINKED)
        if name not in ("", ".", ".."):
            to_parent = ground.links.to(parent or "/", place)
            yield Spelling("symbolic link", KERNEL, f"{to_parent}/{name}", Scene.LINKED)
            yield Spelling("symbolic link", KERNEL, f"{to_parent}/./{name}/", Scene.LINKED)


def _folded(path: str) -> Iterator[Spelling]:
    forms = {
        "case": (path.upper(), path.lower(), path.swapcase()),
        "letters that fold": ("".join(_FOLDING.get(c, c) for c in path),),
        "Unicode form": tuple(unicodedata.normalize(form, path) for form in ("NFD", "NFC")),
    }
    for kind, texts in forms.items():
        for text in dict.fromkeys(texts):
            if text != path:
                yield Spelling(kind, FILE_SYSTEMS, text, Scene.FOLDED)
