"""Fuzz the decision path for a bounded time.

Run it as `PYTHONPATH=tests python tests/fuzz/fuzz_decide.py [SECONDS] [SEED]`.

Every call must be a decision without an internal error, its canonical arguments a fixed point, and it
must take a bounded time. What fails is printed as a call that can be repeated, and kept in the corpus.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from support.called import one_tool
from support.generators.drawn import ROLES, TEXTS, WORLD
from support.projects.policies import rule, tool

from ironcurtain.decision.decide import Call, Prepared, prepare

CORPUS = Path(__file__).parent / "corpus"
SLOW = 20.0
TOOL = tool(
    "t",
    path=["read-path", "write-path"],
    tree={"roles": ["delete-path"], "recursive": True},
    repo={"roles": ["read-path"], "repository": True},
    remote=["git-remote-url"],
    url=["fetch-url"],
    list={"roles": ["read-path"], "codec": "json-or-comma"},
    to={"roles": ["recipient"], "codec": "addresses"},
    channel=["channel"],
    key=["key"],
    hosted=["repository"],
    branch=["branch-name"],
    note=["none"],
)
RULES = [
    rule("srv", "allow", paths={"roles": ["read-path", "delete-path"], "within": ["/srv", "/srv/a", "~/x"]})
]
NAMES = [argument["name"] for argument in TOOL["args"]]


def mutate(rng: Random, text: str) -> str:
    """Cut, repeat, replace or splice a piece of a text."""
    start, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    piece = rng.choice(
        [
            "",
            text[start:end] * rng.choice([2, 2, 300]),
            json.dumps(rng.choice(TEXTS))[1:-1],
            chr(
                rng.choice(
                    [0, 9, 10, 34, 37, 44, 46, 47, 58, 64, 91, 92, 126, 0x202E, 0xD800, 0xFF0F, 0x1F600]
                )
            ),
            rng.choice(
                ["../", "//", "%2e", "%00", "[", "]", "{", "}", '"', ",", "null", "1e999", "NaN", "\\u0000"]
            ),
        ]
    )
    return text[:start] + piece + text[end:]


def draw(rng: Random, seeds: list[str]) -> str:
    """Return the JSON text of some arguments: a mutated seed, or random leaves, also mutated."""
    if rng.random() < 0.5:
        text = rng.choice(seeds)
    else:
        chosen = rng.sample(NAMES, rng.randint(1, 4))
        text = json.dumps({name: rng.choice(TEXTS) for name in chosen})
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        text = mutate(rng, text)
    return text


def problem(policy: Any, text: str) -> str | None:
    """Return what is wrong with the outcome of a call, or None."""
    started = time.perf_counter()
    found = prepare(Call("s", "t", text), policy)
    if time.perf_counter() - started > SLOW:
        return "took too long"
    if not isinstance(found, Prepared):
        return "internal error" if found.rule == "internal-error" else None
    again = prepare(Call("s", "t", found.call.arguments), policy)
    if not isinstance(again, Prepared):
        return f"what was sent is refused: {again.reason}"
    return None if again.call.arguments == found.call.arguments else "what was sent is no fixed point"


def main(seconds: float, seed: int) -> int:
    """Fuzz; return the process status: 1 if anything failed."""
    policy = one_tool(TOOL, RULES, roles=ROLES, **WORLD)
    rng, seeds = Random(seed), [path.read_text(encoding="utf-8") for path in sorted(CORPUS.glob("*.json"))]
    end, count, failed = time.monotonic() + seconds, 0, 0
    waiting = list(seeds)
    while time.monotonic() < end or waiting:
        text = waiting.pop() if waiting else draw(rng, seeds)
        count += 1
        wrong = problem(policy, text)
        if wrong:
            failed += 1
            sys.stdout.write(f"{wrong}: {text!a}\n")
            (CORPUS / f"failed-{seed}-{count}.json").write_text(
                text, encoding="utf-8", errors="backslashreplace"
            )
    sys.stdout.write(f"{count} calls, {failed} failures, seed {seed}\n")
    return 1 if failed or not seeds else 0


if __name__ == "__main__":
    options = [float(option) for option in sys.argv[1:]]
    sys.exit(main(options[0] if options else 60.0, int(options[1]) if len(options) > 1 else 0))
