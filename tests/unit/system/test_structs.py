"""Values of our own making: immutable, and silent about secrets."""

from __future__ import annotations

import importlib
import pickle
import re
from abc import abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from pkgutil import walk_packages

import pytest
from rich.pretty import pretty_repr

import ironcurtain
from ironcurtain.engine.remote_nodes import Nodes
from ironcurtain.system.structs import AbstractStruct, SecretStruct, Struct, field, replace

PACKAGE = Path(ironcurtain.__file__).parent


class Point(Struct):
    x: int
    more: tuple[str, ...] = field(default_factory=tuple)

    @cached_property
    def double(self) -> int:
        return 2 * self.x


class Named(Point):
    name: str = ""


class Shape(AbstractStruct):
    @abstractmethod
    def area(self) -> int: ...


class Key(SecretStruct):
    secret_fields = frozenset({"secret"})

    id: str
    secret: str


@pytest.mark.parametrize("name", ["x", "double", "unknown"])
@pytest.mark.parametrize("made", [Point(1), Named(1)])
def test_nothing_of_a_value_is_set(made: Point, name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(made, name, 2)
    with pytest.raises(AttributeError):
        delattr(made, name)


def test_what_a_property_has_found_is_neither_compared_nor_copied() -> None:
    made = Point(1)
    assert made.double == 2
    assert (made, hash(made)) == (Point(1), hash(Point(1)))
    assert replace(made, x=5).double == 10
    assert pickle.loads(pickle.dumps(made)) == made


def test_what_lacks_a_method_is_not_made() -> None:
    with pytest.raises(TypeError, match="area"):
        Shape()  # type: ignore[abstract] # which is what is shown


def test_what_is_not_shown_is_in_no_text_about_a_value() -> None:
    key = Key("one", "hidden")
    assert repr(key) == pretty_repr(key) == "Key(id='one')"
    assert "hidden" not in f"{key} {[key]} {pretty_repr([key])}"
    assert "hidden" not in pretty_repr(Nodes(("https://a.example",), token="hidden", ca="hidden"))


def with_secrets() -> Iterator[type[SecretStruct]]:
    """Return all classes of the package that keep something to themselves."""
    for module in walk_packages(ironcurtain.__path__, "ironcurtain."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return (each for each in SecretStruct.__subclasses__() if each.__module__.startswith("ironcurtain."))


def test_what_is_not_shown_is_a_field() -> None:
    """A name that is written wrongly would hide nothing."""
    unknown = {each.__qualname__: each.secret_fields - set(each.__struct_fields__) for each in with_secrets()}
    assert len(unknown) > 5
    assert not any(unknown.values())


def test_no_dataclass_of_ours_is_frozen() -> None:
    """What it says a Struct says, and a module with one takes longer to load."""
    frozen = re.compile(r"dataclass\([^)]*\bfrozen=True")
    modules = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    assert len(modules) > 500
    assert [str(path) for path, text in modules.items() if frozen.search(text)] == []
