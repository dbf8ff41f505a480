"""Arguments that hold a language (SQL, shell, …), whose effect cannot be decided by their value.

A rule decides about their tools as a whole, so the person who reads the policy is told of them, and such a
tool is contained only if a person confirms it.
"""

from __future__ import annotations

import re

from ironcurtain.compiler.annotate.schema_leaves import SchemaLeaf, leaves
from ironcurtain.model.annotations import ToolAnnotation

_NAMES: dict[str, frozenset[str]] = {
    "SQL": frozenset({"sql", "soql", "hql", "tsql"}),
    "JQL": frozenset({"jql"}),
    "CQL": frozenset({"cql"}),
    "a shell command": frozenset({"command", "cmd", "shell", "commandline", "bash"}),
    "program code": frozenset({"code", "script", "javascript", "expression", "program", "snippet"}),
    "GraphQL": frozenset({"graphql"}),
    "Cypher": frozenset({"cypher"}),
    "IMAP": frozenset({"imap"}),
    "XPath": frozenset({"xpath"}),
}
_TEXTS: dict[str, re.Pattern[str]] = {
    "SQL": re.compile(r"\b(?:SQL|SOQL) (?:query|queries|statement|command|expression|SELECT)"),
    "JQL": re.compile(r"\bJQL\b"),
    "CQL": re.compile(r"\bCQL\b"),
    "a shell command": re.compile(
        r"\b(?:shell|bash|terminal|command.line) (?:command|script)|\bcommands? to (?:run|execute)\b",
        re.IGNORECASE,
    ),
    "program code": re.compile(
        r"\b(?:JavaScript|Python|TypeScript|Ruby|Lua) (?:code|function|expression|script)"
        r"|\bcode to (?:run|execute|evaluate)\b",
        re.IGNORECASE,
    ),
    "GraphQL": re.compile(r"\bGraphQL (?:query|mutation|document|operation)", re.IGNORECASE),
    "Cypher": re.compile(r"\bCypher (?:query|statement)", re.IGNORECASE),
    "IMAP": re.compile(r"\bIMAP (?:search|query|criteria|command)", re.IGNORECASE),
    "XPath": re.compile(r"\bXPath\b"),
}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def languages(tool: ToolAnnotation) -> dict[str, str]:
    """Return the language of each argument of a tool that holds one, by the argument's name."""
    named = ((leaf.name, _language(leaf)) for leaf in leaves(tool) if not leaf.is_plain_element)
    return {name: language for name, language in named if language}


def _language(leaf: SchemaLeaf) -> str | None:
    if not leaf.holds_text or "enum" in leaf.schema or "const" in leaf.schema:
        return None
    words = {word.lower() for word in _WORD.findall(leaf.last_name)}
    description = str(leaf.schema.get("description", ""))
    for language, names in _NAMES.items():
        if words & names or _TEXTS[language].search(description):
            return language
    return None
