"""Where totals of callers are kept: can it be read, and does it keep what is booked?"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ironcurtain.enforcement.facts.totals.store import StoreError
from ironcurtain.enforcement.facts.totals.store_place import StorePlace
from ironcurtain.errors import IronCurtainError, SystemFailedError
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation, failed
from ironcurtain.system.text import visible

_NAME = "state"


def state(installation: Installation) -> Iterator[Diagnosis]:
    """Read the store of totals, as far as there is one; nothing is written."""
    try:
        place = StorePlace.parse(installation.state)
    except IronCurtainError as error:
        yield from failed(_NAME, error)
        return
    if place.file is not None and not os.path.lexists(place.file):
        if installation.state is not None:
            what = f"{visible(str(place.file))} is not there yet: it is made when the first total is read"
            yield Diagnosis.ok(_NAME, what)
        return
    try:
        yield _seen(place)
    except StoreError as error:
        yield Diagnosis.fail(
            _NAME,
            f"{error}: calls that need a total are refused",
            f"Look at {visible(place.name)} (`ironcurtain error memory`).",
            code=SystemFailedError.code,
        )


def _seen(place: StorePlace) -> Diagnosis:
    server = place.server()
    if server is None:
        place.open(b"").totals(())
    elif server.evicts():
        return Diagnosis.warn(
            _NAME,
            f"{place.name} forgets totals when its memory is full",
            "Set maxmemory-policy noeviction in the server's configuration.",
        )
    return Diagnosis.ok(_NAME, f"totals are kept in {visible(place.name)}")
