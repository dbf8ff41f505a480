"""Values that our own code makes: immutable, compared by their fields, and cheap to make.

What is read from outside is a model (`ironcurtain.system.frozen`), which checks what it holds; a Struct
checks nothing. A frozen dataclass says the same as a Struct, but the methods of each are written and compiled
anew whenever its module is loaded; for hundreds of them that took a tenth of every start.
"""

from __future__ import annotations

from abc import ABCMeta
from typing import Any, ClassVar, dataclass_transform

import msgspec
from msgspec import field
from msgspec.structs import asdict, replace

__all__ = ["AbstractStruct", "SecretStruct", "Struct", "asdict", "field", "replace"]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Struct(msgspec.Struct, frozen=True, dict=True):
    """An immutable value of our own making; its fields are its annotated names, in their order.

    Beside them it holds what its cached properties have found, which no comparison and no copy has.
    """


class _AbstractMeta(msgspec.StructMeta, ABCMeta):
    """The metaclass of what is both."""


class AbstractStruct(Struct, metaclass=_AbstractMeta):
    """A Struct that has abstract methods, or a base with some."""


class SecretStruct(Struct):
    """A Struct some of whose fields, such as keys, stand in no text about it.

    Attributes:
        secret_fields: The names of these fields.
    """

    secret_fields: ClassVar[frozenset[str]]

    def __repr__(self) -> str:
        """Return the other fields as any Struct shows them."""
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return the other fields, for what shows a value in colours."""
        return [
            (name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.secret_fields
        ]
