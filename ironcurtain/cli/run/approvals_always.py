"""What `ironcurtain approvals always` and its page say of a request that waits."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Unpack

from ironcurtain.analysis.advice.always import always, without_policy
from ironcurtain.analysis.advice.report import Advice
from ironcurtain.cli.options.options import TrustOptions
from ironcurtain.cli.review.logged_calls import logs_of
from ironcurtain.cli.review.policy_argument import opa_command, read_policy
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.audit.log_paths import all_logs
from ironcurtain.errors import AuditError, FileError
from ironcurtain.model.guarantees import Guarantees


def advice_on(
    request: ApprovalRequest,
    bundle: str | None,
    audit: Path,
    *,
    home: str | None = None,
    opa: str | None = None,
    **trust: Unpack[TrustOptions],
) -> Advice:
    """Return sentences that would answer a request, from a policy and the logs of a directory.

    Raises:
        IronCurtainError: If the policy is not there, cannot be used or cannot be examined, or OPA fails.
    """
    engine = opa_command(opa)
    read = partial(logs_of, directory=str(audit), key=None, home=home, sandbox=None, opa=engine)
    policy = read_policy(bundle, None, None, **trust) if bundle is not None else None
    guarantees = policy.beside(None, policy.project.settings.guarantees, Guarantees) if policy else None
    try:
        logs = read(all_logs(audit))
        if policy is None:
            return without_policy(request, logs, "No policy is named; --bundle names it.")
        return always(request, policy.bundle, policy.world, engine, guarantees, logs)
    except (AuditError, FileError) as error:
        # What people denied may be missing, so nothing may be proposed.
        return without_policy(request, read(()), f"{error}.")
