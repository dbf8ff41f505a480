"""What `ironcurtain web` reads to show a policy and to compare it with an older one."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path

from ironcurtain.analysis.advice.advise import Logs
from ironcurtain.analysis.advice.report import Advice
from ironcurtain.analysis.diff.report import Difference
from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.cli.options.options import PolicyOptions, TrustOptions
from ironcurtain.cli.review.logged_calls import logs_of
from ironcurtain.cli.review.policy_argument import (
    assumed_scenarios,
    assumed_world,
    opa_command,
    project_of,
    read_policy,
)
from ironcurtain.cli.run.approvals_always import advice_on
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.audit.log_paths import all_logs
from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.gate.change_approvals import draft, with_approvals
from ironcurtain.integrations.gate.git import Commit
from ironcurtain.integrations.gate.report import compared
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.web.compare import Comparison
from ironcurtain.web.once_per_state import OncePerState
from ironcurtain.web.playground_policy import OpenPlayground, Playground, WarmPolicy
from ironcurtain.web.playground_scenarios import ScenarioFile
from ironcurtain.web.policy_report import PolicyFiles, PolicyReport

_COMMIT_SECONDS = 5.0


def check_named(bundle: str, against: str | None, options: PolicyOptions) -> None:
    """Refuse what cannot be shown while somebody looks at the terminal; later on, the pages say so.

    Raises:
        IronCurtainError: If the policy or the older one is not there, or cannot be trusted.
    """
    trust = Trust.of(**_trust(options))
    open_bundle(Path(bundle), trust)
    if against is not None:
        _older(bundle, against, trust)


def policy_of(bundle: str, options: PolicyOptions) -> OncePerState[PolicyReport]:
    """Return the examination of a policy, which begins when somebody looks at it."""
    return OncePerState(partial(_state, bundle, None), partial(examined, bundle, options))


def comparison_of(bundle: str, against: str, options: PolicyOptions) -> OncePerState[Comparison]:
    """Return the comparison of a policy with an older one, which begins when somebody looks at it."""
    return OncePerState(partial(_state, bundle, against), partial(compared_with, bundle, against, options))


def playground_of(bundle: str, against: str | None, options: PolicyOptions) -> OpenPlayground:
    """Return the playground of a policy, whose engine starts when somebody looks at it."""
    return OpenPlayground(partial(_state, bundle, against), partial(opened, bundle, against, options))


def advice_for(bundle: str | None, audit: Path, options: PolicyOptions, request: ApprovalRequest) -> Advice:
    """Return what `ironcurtain approvals always` says of a request.

    Raises:
        IronCurtainError: If the policy is not there, cannot be trusted or cannot be examined.
    """
    home, opa = options["home"], options["opa"]
    return advice_on(request, bundle, audit, home=home, opa=opa, **_trust(options))


def logs_in(audit: Path, options: PolicyOptions) -> Logs:
    """Return all audit logs of a directory, each call where it was recorded.

    Raises:
        IronCurtainError: If one is not what was written, or is missing.
    """
    engine = opa_command(options["opa"])
    home = options["home"]
    return logs_of(all_logs(audit), directory=str(audit), key=None, home=home, sandbox=None, opa=engine)


def opened(bundle: str, against: str | None, options: PolicyOptions) -> Playground:
    """Load a policy on the machine that its scenarios assume, and the older one beside it.

    Raises:
        IronCurtainError: As `Policy.load` and `ironcurtain diff` do.
    """
    trust = Trust.of(**_trust(options))
    opa = Path(options["opa"]) if options["opa"] is not None else None
    assumed, project = assumed_scenarios(bundle, None), project_of(Path(bundle))
    machine = assumed.world
    older = _older(bundle, against, trust) if against is not None else None
    file = project.path("scenarios")
    return Playground(
        policy=WarmPolicy(open_bundle(Path(bundle), trust), machine, opa),
        machine=machine,
        known=assumed.scenarios,
        scenarios=ScenarioFile(file, project.root) if file.exists() else None,
        older=WarmPolicy(older, machine, opa) if older is not None else None,
        called=against or "",
    )


def examined(bundle: str, options: PolicyOptions) -> PolicyReport:
    """Examine a policy with the files of its project.

    Raises:
        IronCurtainError: As `ironcurtain findings` and `ironcurtain guarantees` do.
    """
    policy = read_policy(bundle, None, None, **_trust(options))
    files = PolicyFiles(
        bundle=policy.bundle,
        scenarios=assumed_scenarios(bundle, None),
        has_scenarios=policy.scenarios is not None,
        constitution=policy.project.path("constitution"),
        guarantees=policy.beside(None, policy.project.settings.guarantees, Guarantees),
        waivers=policy.beside(None, "waivers.yaml", Waivers),
        engine=opa_command(options["opa"]),
    )
    return PolicyReport(files, datetime.now(UTC).date())


def compared_with(bundle: str, against: str, options: PolicyOptions) -> Comparison:
    """Compare a policy with an older one, a bundle or a commit, as `ironcurtain diff` does.

    Raises:
        IronCurtainError: As `ironcurtain diff` and `ironcurtain verify --against` do.
    """
    trust = Trust.of(**_trust(options))
    older, newer = _older(bundle, against, trust), open_bundle(Path(bundle), trust)
    found = compared(older, newer, assumed_world(bundle, None), opa_command(options["opa"]))
    sentences = {**PolicyContent.of(older).clauses, **PolicyContent.of(newer).clauses}
    return Comparison(against, found, sentences)


def approvals_text(difference: Difference, reason: str, approver: str) -> str:
    """Return the file that approves all that is loosened, as `ironcurtain diff` writes it."""
    return with_approvals("", draft(difference.loosened, reason=reason, approver=approver, expires=None))


def _older(bundle: str, against: str, trust: Trust) -> Bundle:
    if Path(against).exists():
        return open_bundle(Path(against), Trust(trust.key))
    return _commit(bundle, against).bundle(Path(bundle))


def _commit(bundle: str, against: str) -> Commit:
    return Commit.of(against, Path(bundle).absolute().parent)


def _trust(options: PolicyOptions) -> TrustOptions:
    return TrustOptions(
        expect_revision=options["expect_revision"],
        verify_key=options["verify_key"],
        min_serial=options["min_serial"],
    )


def _state(bundle: str, against: str | None) -> Hashable:
    """Return when bundles and what lies beside them were last written, and what a commit's name means."""
    written = tuple(_written(Path(bundle)))
    if against is None:
        return written
    if Path(against).exists():
        return written, tuple(_written(Path(against)))
    return written, _digest(bundle, against, int(time.monotonic() / _COMMIT_SECONDS))


@lru_cache(maxsize=2)
def _digest(bundle: str, against: str, _: int) -> str:
    """Return the commit that a name means, for a while: pages that are open ask twice a second."""
    try:
        return _commit(bundle, against).digest
    except IronCurtainError as error:
        return str(error)


def _written(bundle: Path) -> Iterator[tuple[str, int, int]]:
    beside = (
        *bundle.parent.glob("*.json"),
        *bundle.parent.glob("*.yaml"),
        *bundle.parent.parent.glob("*.yaml"),
        *bundle.parent.parent.glob("*.toml"),
        *bundle.parent.parent.glob("*.md"),
    )
    inside = bundle.rglob("*") if bundle.is_dir() else ()
    for path in sorted({bundle, *beside, *inside}):
        try:
            found = path.stat()
        except OSError:
            continue
        yield str(path), found.st_mtime_ns, found.st_size
