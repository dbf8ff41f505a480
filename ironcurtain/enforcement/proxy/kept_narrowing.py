"""What a policy leaves of its tools, kept from one start of the proxy to the next.

Working it out takes most of a start, and clients wait for it. What was kept counts only for the same bundle,
deployment, OPA and code of ours, and only where nobody but us and root can have written it; otherwise it is
worked out anew. It decides nothing: it says what clients are shown.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable

from ironcurtain.analysis.narrowing.report import Narrowing
from ironcurtain.policy import Policy
from ironcurtain.settings import narrowing_directory
from ironcurtain.system.json_text import digest_bytes
from ironcurtain.system.kept_results import file_state, keep, own_code, read_kept
from ironcurtain.system.structs import asdict


def kept_narrowing(policy: Policy, work_out: Callable[[], Narrowing]) -> Narrowing:
    """Return what a policy leaves of its tools: what was kept of it, or what is worked out now and kept.

    Raises:
        IronCurtainError: As `work_out` does.
    """
    place = narrowing_directory() / f"{_key(policy)}.json"
    found = read_kept(place, Narrowing)
    if found is None or found.revision != policy.revision:
        found = work_out()
        with contextlib.suppress(OSError):  # then the next start takes as long as this one
            keep(place, found)
    return found


def _key(policy: Policy) -> str:
    """Return a digest of all that the result depends on."""
    deployment = policy.loaded.deployment
    protected = sorted(deployment.protected)  # their order differs from start to start and means nothing
    paths = [deployment.home, deployment.sandbox, *protected, *deployment.working_roots.values()]
    inputs = [
        digest_bytes(policy.bundle.archive()),
        {**asdict(deployment), "protected": protected},
        # Where `..` leads depends on the disk.
        [os.path.realpath(path) for path in paths if path is not None],
        [policy.opa.version, *file_state([policy.opa.path])],
        own_code(),
    ]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
