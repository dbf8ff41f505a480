"""All that `ironcurtain doctor` looks at, in the order in which one thing needs another."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import platformdirs

from ironcurtain.errors import Exit, ExtraMissingError, IronCurtainError, SystemFailedError
from ironcurtain.integrations.doctor.audit import audit
from ironcurtain.integrations.doctor.clients import clients
from ironcurtain.integrations.doctor.gateways import gateways
from ironcurtain.integrations.doctor.hooks import hooks
from ironcurtain.integrations.doctor.installation import Diagnosis, DoctorReport, Installation, failed
from ironcurtain.integrations.doctor.policy import bundle
from ironcurtain.integrations.doctor.project import (
    approvals,
    decision,
    engine_program,
    keys,
    model,
    packages,
    python,
    settings,
)
from ironcurtain.integrations.doctor.proxies import nodes, proxies, publishing
from ironcurtain.integrations.doctor.servers import servers
from ironcurtain.integrations.doctor.state import state
from ironcurtain.system.extras import missing_extra
from ironcurtain.system.text import visible

_NAME = "ironcurtain"


def places(installation: Installation) -> Iterator[Diagnosis]:
    """Name each directory of ours that is there, and what it holds."""
    for place, held in (
        (installation.user, "keys, approvals, audit logs, backups of wrapped clients: worth keeping"),
        (platformdirs.user_data_path(_NAME), "fetched servers, which can be fetched again"),
        (platformdirs.user_cache_path(_NAME), "an OPA, which can be installed again"),
    ):
        if place.exists():
            yield Diagnosis.ok("place", f"{visible(str(place))}: {held}")


def project(installation: Installation) -> Iterator[Diagnosis]:
    """Say where there is no project to look at."""
    if not installation.project:
        where = visible(str(installation.cwd))
        yield Diagnosis.skip(
            "project",
            f"{where} is in no project: neither a bundle nor the servers of one are looked at",
            "Run it in a project's directory, or name --bundle and --servers.",
        )


CHECKS: tuple[Callable[[Installation], Iterator[Diagnosis]], ...] = (
    python,
    packages,
    project,
    settings,
    model,
    engine_program,
    bundle,
    servers,
    gateways,
    approvals,
    audit,
    state,
    keys,
    clients,
    hooks,
    proxies,
    nodes,
    publishing,
    decision,
    places,
)
_OF_A_PROJECT = frozenset({model, bundle, servers, gateways, decision})


def examine(installation: Installation) -> DoctorReport:
    """Look at everything; what fails does not keep the rest from being looked at.

    Outside a project that is all that does not need one.
    """
    checks = [check for check in CHECKS if installation.project or check not in _OF_A_PROJECT]
    diagnoses = tuple(diagnosis for check in checks for diagnosis in _looked_at(check, installation))
    return DoctorReport(ok=all(each.status != "fail" for each in diagnoses), checks=diagnoses)


def exit_of(report: DoctorReport) -> Exit:
    """Return what a report means as an exit code."""
    return Exit.YES if report.ok else Exit.NO


def _looked_at(
    check: Callable[[Installation], Iterator[Diagnosis]], installation: Installation
) -> Iterator[Diagnosis]:
    try:
        yield from check(installation)
    except ImportError as error:
        yield from failed(check.__name__, missing_extra(error) or _broken(error))
    except IronCurtainError as error:
        yield from failed(check.__name__, error)
    except OSError as error:
        where = f" ({visible(str(error.filename))})" if error.filename else ""
        yield Diagnosis.fail(
            check.__name__,
            f"the operating system refuses: {error.strerror or error}{where}",
            "Give yourself the permission, or run as whoever has it.",
            code=SystemFailedError.code,
        )


def _broken(error: ImportError) -> ExtraMissingError:
    return ExtraMissingError(
        f"a package cannot be loaded: {visible(str(error))}",
        hint="Run `pip install --force-reinstall ironcurtain`.",
    )
