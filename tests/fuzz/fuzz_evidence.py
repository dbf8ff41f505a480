"""Hold evidence about random policies over published tools against random calls.

Run it as `PYTHONPATH=tests python tests/fuzz/fuzz_evidence.py [POLICIES] [SEED]`.

A policy is the rules of one server. What a call contradicts, and what ends with an error, is printed with
the seed of its batch; at the end stands what was claimed how often, and what the claims rest on.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections import Counter

from support.oracles.published_claims import Batch

from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find

BATCH = 40


def tell(line: str) -> None:
    """Print a line now: somebody may be watching."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(policies: int = 10_000, seed: int = 1) -> int:
    """Run so many policies, print what was found, and return how much of it is wrong."""
    opa = OpaCommand(find())
    counted: Counter[str] = Counter()
    wrong, calls, start = 0, 0, time.monotonic()
    for number in range(-(-policies // BATCH)):
        batch = Batch(seed + number, BATCH, opa)
        try:
            calls += len(batch.run().calls)
        except Exception:  # noqa: BLE001 - whatever ends one batch is a find, and the others go on
            batch.contradicted.append(f"seed {batch.seed}: {traceback.format_exc()}")
        counted += batch.counted
        wrong += len(batch.contradicted)
        for each in batch.contradicted:
            tell(each)
        if number % 5 == 0:
            took = time.monotonic() - start
            tell(f"{(number + 1) * BATCH} policies, {calls} calls, {wrong} wrong, {took:.0f} s")
    for key, count in sorted(counted.items()):
        tell(f"{count:8} {key}")
    tell(f"{policies} policies, {calls} calls, {wrong} wrong, {time.monotonic() - start:.0f} s")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if main(*map(int, sys.argv[1:3])) else 0)
