"""A project's own Rego modules: what they may be, checked on the parsed module and by OPA.

They can tighten and never loosen: each contributes `deny` and `escalate` entries to the decision, under
a package of its own, and the library takes nothing else from them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ironcurtain.compiler.render.custom_names import name_problems
from ironcurtain.compiler.render.input_schema import SCHEMA, policy_input_schema
from ironcurtain.compiler.render.rego_syntax import Node
from ironcurtain.compiler.render.render import schema_annotation
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import (
    CustomModuleError,
    IronCurtainError,
    Place,
    RegoRejectedError,
    SeveralErrors,
    raise_all,
)
from ironcurtain.system import assets, json_text
from ironcurtain.system.files import atomic_write, read_text
from ironcurtain.system.private_runtime import private_directory
from ironcurtain.system.structs import Struct

_PACKAGE = ["data", "ironcurtain", "custom"]
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_TEST = "_test"
_CONTRIBUTIONS = {"deny", "escalate"}
_ENTRY = {"id", "reason"}


class CustomModule(Struct):
    """One module of a project.

    Attributes:
        path: Its place in the bundle.
        text: Its text, with the annotation by which OPA checks it against the input schema.
        strings: The string constants in it, some of which may be patterns that it tests for.
        source: The author's file.
        added: After which of its lines that annotation stands, and how many lines it has.
    """

    path: str
    text: str
    strings: frozenset[str]
    source: str
    added: tuple[int, int] = (0, 0)

    def place(self, line: int | None, column: int | None) -> Place:
        """Return the author's place of a line of `text`."""
        after, count = self.added
        return Place(self.source, line - count if line is not None and line > after else line, column)


def read_modules(directory: Path) -> dict[str, str]:
    """Return the text of every Rego file below a directory, by its path.

    Raises:
        CustomModuleError: For every file that is no Rego module; there must be no data files.
        FileError: If the directory or a file cannot be read.
    """
    if not directory.is_dir():
        raise CustomModuleError("there is no such directory", where=str(directory))
    files = sorted(path for path in directory.rglob("*") if path.is_symlink() or not path.is_dir())
    raise_all(
        [
            CustomModuleError("only .rego files may be among custom modules", where=str(path))
            for path in files
            if path.suffix != ".rego" or path.is_symlink()
        ]
    )
    return {str(path): read_text(path) for path in files}


def check_modules(
    modules: Mapping[str, str], opa: OpaCommand, registry: Registry
) -> tuple[CustomModule, ...]:
    """Check the modules of a project and prepare them for a bundle.

    Args:
        modules: Text by file path.
        opa: Parses and checks them.
        registry: The roles that they may name.

    Raises:
        CustomModuleError: For each breach of what a module may be, and each name that is true of no call,
            with its place.
        RegoRejectedError: For each error that OPA finds, with its place in the author's file.
    """
    checked: list[CustomModule] = []
    problems: list[IronCurtainError] = []
    for name, text in sorted(modules.items()):
        try:
            module = _module(name, text, opa, registry)
            if any(module.path == other.path for other in checked):
                raise CustomModuleError("two modules of one package have the same file name", where=name)
            checked.append(module)
        except IronCurtainError as error:
            problems += _each(error)
    raise_all(problems)
    if checked:
        _check_types(checked, opa, registry)
    return tuple(checked)


def _check_types(modules: Sequence[CustomModule], opa: OpaCommand, registry: Registry) -> None:
    """Let OPA check the modules beside the shipped ones, against the schema of the input."""
    with private_directory("work") as place:
        directory, schemas = place / "modules", place / "schemas"
        atomic_write(schemas / f"{SCHEMA}.json", json_text.pretty(policy_input_schema(registry)).encode())
        shutil.copytree(assets.REGO / "ironcurtain", directory / "ironcurtain")
        for module in modules:
            atomic_write(directory / module.path, module.text.encode())
        try:
            opa.check(directory, schemas=schemas)
        except IronCurtainError as error:
            by_path = {str(directory / module.path): module for module in modules}
            raise_all([_at_home(each, by_path) for each in _each(error)])


def _each(error: IronCurtainError) -> Sequence[IronCurtainError]:
    return error.errors if isinstance(error, SeveralErrors) else [error]


def _at_home(error: IronCurtainError, modules: Mapping[str, CustomModule]) -> IronCurtainError:
    """Return an error with the place that it has in its author's file."""
    module = modules.get(error.where.source) if error.where is not None else None
    if module is None or error.where is None:
        return error
    return RegoRejectedError(error.what, where=module.place(error.where.line, error.where.column))


def _module(name: str, text: str, opa: OpaCommand, registry: Registry) -> CustomModule:
    tree = _parsed(name, text, opa)
    added = (0, 0)
    package = tree.child("package")
    path = [term.text for term in package.children("path")]
    last = path[-1] if path[:-1] == _PACKAGE else ""
    is_test = name.endswith(f"{_TEST}.rego")
    base = last.removesuffix(_TEST) if is_test else last
    if not _NAME.fullmatch(base) or base.endswith(_TEST) or (is_test and not last.endswith(_TEST)):
        wanted = "ironcurtain.custom.<name>_test" if is_test else "ironcurtain.custom.<name>"
        raise CustomModuleError(
            f"its package is not {wanted}",
            where=Place(name, package.row),
            hint="A name is of lower-case letters, digits and underscores, without _test at its end.",
        )
    if not is_test:
        raise_all([*_rule_problems(name, tree), *name_problems(name, tree, registry)])
        before = text.count("\n")
        text = _with_schema(name, text, package.row - 1)
        added = (package.row - 1, text.count("\n") - before)
    return CustomModule(
        f"ironcurtain/custom/{base}/{Path(name).name}",
        text,
        frozenset() if is_test else frozenset(node.text for node in tree.walk() if node.kind == "string"),
        source=name,
        added=added,
    )


def _parsed(name: str, text: str, opa: OpaCommand) -> Node:
    with private_directory("work") as directory:
        path = directory / "module.rego"
        path.write_text(text, encoding="utf-8")
        try:
            tree = Node.of(opa.parse(path, locations=True))
        except IronCurtainError as error:
            as_written = CustomModule("", text, frozenset(), source=name)
            raise_all([_at_home(each, {str(path): as_written}) for each in _each(error)])
    return tree


def _rule_problems(name: str, tree: Node) -> Iterator[IronCurtainError]:
    contributes = False
    for rule in tree.children("rules"):
        if rule.name not in _CONTRIBUTIONS:
            continue
        contributes = True
        head = rule.child("head")
        if len(head.children("ref")) > 1 or not _is_entry(head.child("key")):
            yield CustomModuleError(
                f'{rule.name} is not of the form `{rule.name} contains {{"id": ID, "reason": TEXT}}`',
                where=Place(name, rule.row),
            )
    if not contributes:
        yield CustomModuleError(
            "it contributes neither `deny` nor `escalate`", where=name, hint="Nothing else is taken from it."
        )


def _is_entry(key: Node) -> bool:
    if key.kind != "object":
        return False
    names = [name.text for name, _ in key.pairs if name.kind == "string"]
    return len(key.pairs) == len(_ENTRY) and set(names) == _ENTRY


def _with_schema(name: str, text: str, row: int) -> str:
    """Return the module with our schema annotation in the METADATA above its package, line `row` from 0.

    Without it OPA does not check what the module reads of the input, and a misspelt role never denies.
    """
    lines = text.splitlines(keepends=True)
    start = row
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
    block = [line.rstrip() for line in lines[start:row]]
    if any(re.fullmatch(r"#\s*schemas\s*:.*", line) for line in block):
        raise CustomModuleError(
            "leave `schemas` out of the package's METADATA", where=Place(name, start + 1), hint="It is added."
        )
    head = "" if "# METADATA" in block else "# METADATA\n"
    return "".join([*lines[:row], head, schema_annotation(), *lines[row:]])
