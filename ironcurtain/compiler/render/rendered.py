"""Checking that a bundle's Rego is what its rules render to, on which all evidence about a policy rests."""

from __future__ import annotations

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.render.assemble import policy_directory
from ironcurtain.compiler.render.render import render_policy
from ironcurtain.errors import EvidenceError, VerificationError
from ironcurtain.model.conditions import If
from ironcurtain.model.policy import CompiledPolicy, Rule


def check_rendered(bundle: Bundle) -> None:
    """Render a bundle's rules anew and hold the result against its modules.

    Raises:
        EvidenceError: If the bundle does not hold its rules' conditions.
        VerificationError: Naming the first module that is not what the rules say.
    """
    content = PolicyContent.of(bundle)
    if any(text.if_ is None for text in content.rules.values()):
        raise EvidenceError(
            "the bundle does not hold the conditions of its rules",
            hint="It was built by an older version: build it again.",
        )
    ordered = sorted(content.rules.items(), key=lambda item: item[1].order)
    rules = tuple(
        Rule.model_construct(
            name=name,
            description=text.description,
            clause=text.clause,
            if_=text.if_ or If(),
            then=text.then,
            reason=text.reason,
        )
        for name, text in ordered
    )
    policy = CompiledPolicy(format="ironcurtain/policy/v1", rules=rules)
    for server in content.annotations.servers:
        path = f"{policy_directory(server)}/policy.rego"
        if bundle.files.get(path) != render_policy(policy, server, content.annotations).encode():
            raise VerificationError(
                "the module is not what the bundle's rules say",
                where=path,
                hint="It was edited by hand, or rendered by another version: build the bundle again.",
            )
