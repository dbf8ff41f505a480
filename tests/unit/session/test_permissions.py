"""What a session's agent and person are told that its tools may do."""

from __future__ import annotations

from support.called import bundle
from support.projects.policies import rule, tool

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.session.permissions import permissions, policy_lines


def test_a_server_whose_name_ends_in_an_underscore_is_told_by_its_name() -> None:
    servers = {"git_": [tool("status"), tool("push")]}
    content = PolicyContent.of(bundle(servers, [rule("look", "allow", tool=["status"])]))
    told = permissions(content, ["git___status"], has_workspace=False)
    assert told.never == ("git___push",), "the agent is told what its servers have and nothing permits"
    lines = policy_lines(content, told, attended=True, seconds=60)
    assert lines[1:4] == [
        "may go on without asking: 1 (git_/status)",
        "always ask: none",
        "never: 1 (git_/push)",
    ]
