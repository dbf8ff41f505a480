"""What the published rules would decide about tools that were never compiled.

    rows = newcomer_rows(published, server, annotations, world, opa)
    report = onboarding_report(published, bundle, bundle, server, annotations, rows)

No rule is changed, and no model is asked: the published rules are rendered again with the new annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ironcurtain.analysis.engine.opa_queries import examine
from ironcurtain.analysis.engine.policies_under_test import load_policies
from ironcurtain.analysis.engine.space.call_space import CallSpace
from ironcurtain.analysis.matrix.matrix import tool_table
from ironcurtain.analysis.matrix.report import Row
from ironcurtain.analysis.onboarding.report import NewTool, Onboarding, ToolStatus
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.render.custom_modules import check_modules, read_modules
from ironcurtain.decision.decide import is_drifted
from ironcurtain.decision.reserved_tools import with_reserved
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import Opa
from ironcurtain.model.annotations import Annotations, ServerAnnotations
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.system.files import load
from ironcurtain.system.structs import Struct


class PublishedRules(Struct):
    """The rules of a published directory, and what they refer to.

    Attributes:
        custom: Directory of the project's own Rego modules, if it has one.
    """

    policy: CompiledPolicy
    annotations: Annotations
    lists: Lists | None
    hosts: frozenset[str]
    custom: Path | None = None

    @classmethod
    def read(cls, output: Path, hosts: frozenset[str], custom: Path | None) -> PublishedRules | None:
        """Read what a compile published; None where nothing is published yet.

        Raises:
            FileError, FormatError, NewerFormatError: If a file is there and cannot be used.
        """
        rules, lists = output / "compiled-policy.json", output / "dynamic-lists.json"
        if not rules.exists():
            return None
        return cls(
            load(rules, CompiledPolicy),
            load(output / "tool-annotations.json", Annotations),
            load(lists, Lists) if lists.exists() else None,
            hosts,
            custom,
        )


def newcomer_rows(
    published: PublishedRules, server: str, annotations: Annotations, world: DescribedWorld, opa: Opa
) -> Mapping[str, tuple[Row, ...]]:
    """Return, by tool of a server, what the published rules would decide about it.

    Raises:
        RuleError, PatternError, ListError: If the rules contradict the annotations.
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
    """
    engine = OpaCommand(opa)
    tools = annotations.servers[server].tools
    servers = {**published.annotations.servers, server: ServerAnnotations(tools=tools)}
    together = published.annotations.model_copy(update={"servers": servers, "roles": annotations.roles})
    together = with_reserved(together, published.policy)
    registry = Registry(together.roles)
    custom = check_modules(read_modules(published.custom), engine, registry) if published.custom else ()
    bundle = assemble(
        published.policy,
        together,
        published.lists,
        registry=registry,
        release=Release(opa.version, case_insensitive_hosts=published.hosts),
        custom=custom,
    )
    policies = load_policies([bundle], world)
    examined = examine([CallSpace(server, tool.tool, policies) for tool in tools], engine)
    return {tool.space.tool: tool_table(tool).rows for tool in examined}


def onboarding_report(
    rules: PublishedRules | None,
    bundle: Path,
    shown: Path,
    name: str,
    annotations: Annotations,
    rows: Mapping[str, tuple[Row, ...]],
) -> Onboarding:
    """Return how far the onboarding of a server has come.

    Args:
        rules: What is published; None where nothing is.
        bundle: Directory of the published bundle.
        shown: The same directory, as the commands that lead on name it.
        name: The server.
        annotations: Its tools, annotated.
        rows: By tool, what the published rules would decide about it (`newcomer_rows`).
    """
    tools = []
    for tool in annotations.servers[name].tools:
        old = rules.annotations.find(name, tool.tool) if rules is not None else None
        same = old is not None and not is_drifted(old, tool.schema_digest, tool.listing_digest)
        status: ToolStatus = "new" if old is None else "known" if same else "changed"
        tools.append(NewTool(tool=tool.tool, status=status, rows=rows.get(tool.tool, ())))
    compiled = bool(tools) and all(tool.status == "known" for tool in tools)
    follow = (f"ironcurtain verify {shown}", f"ironcurtain matrix {shown}")
    return Onboarding(
        server=name,
        stage="compiled" if compiled else "annotated",
        revision=Bundle.read(bundle).revision if rules is not None else None,
        tools=tuple(tools),
        next=follow if compiled else ("ironcurtain compile", *follow),
    )
