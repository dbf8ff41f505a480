"""Reading the syntax tree of a Rego module, as `opa parse` prints it.

    tree = Node.of(opa.parse(path, locations=True))
    for rule in tree.children("rules"):
        for node in rule.walk():
            name, arguments = node.call()

OPA leaves out what a construct does not have, so a member that is absent reads as empty here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct


class Node(Struct):
    """An object of the tree: a module, a rule, the head of one, an expression or a term.

    Attributes:
        content: The object as OPA printed it.
    """

    content: Mapping[str, JsonValue]

    @classmethod
    def of(cls, value: JsonValue) -> Node:
        """Return a value of the tree as a node, an empty one if it is no object."""
        return cls(value if isinstance(value, dict) else {})

    @property
    def kind(self) -> str:
        """What a term is: `var`, `ref`, `call`, `string`, `set`, …; empty for what is no term."""
        kind = self.content.get("type")
        return kind if isinstance(kind, str) else ""

    @property
    def text(self) -> str:
        """The name of a variable or the text of a string; empty for every other term."""
        value = self.content.get("value")
        return value if isinstance(value, str) else ""

    @property
    def terms(self) -> list[Node]:
        """The parts of a reference, the elements of a set or array, the operator and operands of a call."""
        return self.children("value")

    @property
    def pairs(self) -> list[tuple[Node, Node]]:
        """The keys and values of an object."""
        value = self.content.get("value")
        pairs = [pair for pair in value if isinstance(pair, list)] if isinstance(value, list) else []
        return [(self.of(pair[0]), self.of(pair[1])) for pair in pairs]

    @property
    def name(self) -> str:
        """The first part of the name of a rule or function."""
        return next((part.text for part in self.child("head").children("ref")), "")

    @property
    def row(self) -> int:
        """The line where it begins, counted from 1."""
        return self._location("row")

    @property
    def column(self) -> int:
        """The column where it begins, counted from 1."""
        return self._location("col")

    def child(self, key: str) -> Node:
        """Return the object that a member holds."""
        return self.of(self.content.get(key))

    def children(self, key: str) -> list[Node]:
        """Return the objects in the array that a member holds."""
        value = self.content.get(key)
        return [self.of(item) for item in value] if isinstance(value, list) else []

    def call(self) -> tuple[str, list[Node]]:
        """Return the last part of a function's name and the arguments, of a call as expression or as term."""
        operator, *arguments = self.children("value" if self.kind == "call" else "terms") or [Node({})]
        return (operator.terms[-1].text, arguments) if operator.kind == "ref" else ("", [])

    def walk(self) -> Iterator[Node]:
        """Yield this node and all nodes below it."""
        yield self
        for key, value in self.content.items():
            if key != "location":
                yield from _nodes(value)

    def _location(self, key: str) -> int:
        number = self.child("location").content.get(key)
        return number if isinstance(number, int) else 0


def _nodes(value: JsonValue) -> Iterator[Node]:
    if isinstance(value, dict):
        yield from Node(value).walk()
    elif isinstance(value, list):
        for item in value:
            yield from _nodes(item)
