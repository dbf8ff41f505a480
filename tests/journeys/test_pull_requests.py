"""CI on a pull request that is stale, loosened, fine: docs/transcripts/pull-requests.md."""

from __future__ import annotations

from collections.abc import Callable

from support.machines.journey import Journey
from support.projects.agent_project import compile_by_hand, rules

SAID = """\
The project of [the first journey](first-policy.md) lies in a repository. For each pull request CI
runs what the action of [the gate](../gate.md) runs. On GitHub its lines stand beside the changed lines."""
GATE = "ironcurtain verify --format github --output gate.md --output gate.sarif --against origin/main"
READ = "The agent may read files in the Documents folder."
APPROVALS = "diff-approvals.yaml"
ASKED = "- Anywhere else, the agent must ask before it writes a file or creates a folder."
REFUSED = "- Anywhere else, the agent must not write a file or create a folder."
WIDER = "The agent may read files in the Documents folder and in the Downloads folder."


def test_pull_requests(agent: Callable[..., Journey]) -> None:
    you = agent("pull-requests", "CI on three pull requests", SAID)
    you.write(".gitignore", you.read(".gitignore") + "gate.*\n")
    you.commits("The policy")
    # What a checkout of a pull request knows of its target.
    you.run("git update-ref refs/remotes/origin/main main")
    you.say("A stale one", "The constitution is edited and not compiled.")
    you.type("git checkout -q -b stale")
    you.replace("constitution.md", READ, WIDER)
    you.commits("Downloads may be read")
    assert "::error file=constitution.md" in you.type(GATE, 1)
    you.say("A loosened one", "It is compiled, and committed.")
    compile_by_hand(you, {"rules-filesystem": rules("~/Downloads")}, told=False)
    you.commits("Compile it")
    assert "loosened without approval" in you.type(GATE, 1)
    assert you.run("cat gate.md").count("NOT approved") == 2
    you.say("Approved", "Somebody answers for it, in the same pull request.")
    reason = "--reason 'Tickets are to be read.' --approver alice@example.com"
    you.type("git show origin/main:generated/bundle.tar.gz > ../published.tar.gz")
    approve = f"ironcurtain diff ../published.tar.gz generated/bundle --write-approval {APPROVALS} {reason}"
    you.type(f"{approve} > /dev/null", 4)
    you.commits("Approve it")
    you.type(GATE)
    you.say("A fine one", "It only tightens, and is compiled.")
    you.type("git checkout -q -b fine main")
    you.replace("constitution.md", ASKED, REFUSED)
    you.replace("scenarios.yaml", "expect: escalate\n    clause: C8", "expect: deny\n    clause: C8")
    compile_by_hand(you, {"rules-filesystem": rules(writing="deny")}, told=False)
    you.commits("Nothing is written elsewhere")
    you.type(GATE)
    assert "passed | 0 loosened, " in you.type("grep difference gate.md")
    you.transcript.check()
