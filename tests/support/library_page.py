"""The page of the library, `docs/library.md`, made from its docstrings: `make library-page`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path

import ironcurtain
from ironcurtain import errors

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "library.md"
EXAMPLE = """from ironcurtain import Call, Policy

with Policy.load("generated/bundle", sandbox="work", servers="mcp-servers.json") as policy:
    decision = policy.decide("filesystem", "read_text_file", {"path": "~/Documents/letter.txt"})
    if decision.allowed:
        print("send", decision.arguments)
    else:
        print(decision.verdict, decision.rule, decision.reason)
    print([each.verdict for each in policy.decide_many([Call("filesystem", "list_allowed_directories", {})])])
"""
_HEAD = f"""# In a program of your own

All names are imported from `ironcurtain`; the package is typed. `make library-page` writes this page from the
docstrings.

```python
{EXAMPLE}```

A decision has no truth value: `if decision:` raises a `TypeError`, since the decision of a denied call would
pass for yes.
"""
_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises):$")
_NAMES = {"Args": "Arguments", "Raises": "Errors"}
_QUOTED = re.compile(r": '([^']*)'")
_ENTRY = re.compile(r"^( {4})(\S[^:]*):(?: (.*))?$")


def page() -> str:
    """Return the page."""
    names = [name for name in ironcurtain.__all__ if name not in ("errors", "IronCurtainError")]
    order = sorted(names, key=lambda name: (name != "Policy", name))
    return _HEAD + "".join(_class(getattr(ironcurtain, name)) for name in order) + _errors()


def _class(cls: type) -> str:
    text = f"\n## {cls.__name__}\n\n{_rendered(cls)}"
    if issubclass(cls, Enum):
        return f"{text}\n" + "".join(f"- `Verdict.{each.name}`: `{str(each)!r}`\n" for each in cls)
    if is_dataclass(cls):
        text += f"\n```python\n{cls.__name__}{_signature(cls)}\n```\n"
    return text + "".join(_members(cls))


def _members(cls: type) -> Iterator[str]:
    """Yield the methods and properties of a class itself, in the order of its source."""
    for name, member in vars(cls).items():
        plain = member.__func__ if isinstance(member, classmethod) else member
        if name.startswith("_") or name == "model_config":
            continue
        if isinstance(plain, property | cached_property):
            yield f"\n### `{cls.__name__}.{name}`\n\n{_rendered(plain)}"
        elif inspect.isfunction(plain):
            kind = "await " if inspect.iscoroutinefunction(plain) else ""
            yield f"\n### `{kind}{cls.__name__}.{name}`\n\n```python\n{name}{_signature(plain)}\n```\n"
            yield f"\n{_rendered(plain)}"


def _signature(of: object) -> str:
    parameters = [
        each for each in inspect.signature(of).parameters.values() if each.name not in ("self", "cls")
    ]  # type: ignore[arg-type]
    starred, written = False, []
    for each in parameters:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            written.append("*")
            starred = True
        shown = each.replace(default=inspect.Parameter.empty) if "factory" in str(each.default) else each
        written.append(_QUOTED.sub(r": \1", str(shown)) + (" = {}" if shown is not each else ""))
    return f"(\n{''.join(f'    {each},{chr(10)}' for each in written)})" if written else "()"


def _errors() -> str:
    found = [
        cls
        for cls in vars(errors).values()
        if inspect.isclass(cls)
        and issubclass(cls, errors.IronCurtainError)
        and cls is not errors.IronCurtainError
    ]
    rows = "".join(
        f"| `{cls.__name__}` | [{cls.code}](errors/{cls.code}.md) | {_first_line(cls)} |\n"
        for cls in sorted(found, key=lambda cls: (cls.code, cls.__name__))
        if (ROOT / "docs" / "errors" / f"{cls.code}.md").exists()
    )
    head = f"\n## IronCurtainError\n\n{_rendered(errors.IronCurtainError)}\n"
    table = f"| error | page | when |\n|---|---|---|\n{rows}"
    return f"{head}`ironcurtain.errors` has one for each cause:\n\n{table}"


def _first_line(of: object) -> str:
    return (inspect.getdoc(of) or "").splitlines()[0]


def _rendered(of: object) -> str:
    """Return a docstring as Markdown: its sections become lists."""
    lines, entries = [], False
    for line in (inspect.getdoc(of) or "").splitlines():
        section, entry = _SECTION.match(line), _ENTRY.match(line)
        if section:
            lines.append(f"**{_NAMES.get(section[1], section[1])}**\n")
            entries = True
        elif entries and entry:
            lines.append(f"- `{entry[2]}`: {entry[3] or ''}".rstrip())
        elif entries and line.strip():
            lines.append(f"  {line.strip()}" if line.startswith(" " * 8) else f"- {line.strip()}")
        else:
            lines.append(line)
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
