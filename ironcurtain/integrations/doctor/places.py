"""Where files of ours lie on this machine, beside a project's own, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator

import platformdirs

from ironcurtain.integrations.doctor.report import Diagnosis
from ironcurtain.integrations.doctor.subject import Installation
from ironcurtain.system.text import visible

_NAME = "ironcurtain"


def places(subject: Installation) -> Iterator[Diagnosis]:
    """Name each directory of ours that is there, and what it holds."""
    for place, held in (
        (subject.user, "keys, approvals, audit logs, backups of wrapped clients: worth keeping"),
        (platformdirs.user_data_path(_NAME), "fetched servers, which can be fetched again"),
        (platformdirs.user_cache_path(_NAME), "an OPA, which can be installed again"),
    ):
        if place.exists():
            yield Diagnosis(name="place", status="ok", what=f"{visible(str(place))}: {held}")
