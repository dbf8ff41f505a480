"""When an approval for this session ends, as people write it and are told it: a time of their own day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from ironcurtain.enforcement.approvals.messages import LONGEST_GRANT
from ironcurtain.errors import UsageError
from ironcurtain.system.text import quoted

_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_HOURS = (1, 4, 8)


def read_end(text: str, now: datetime) -> datetime:
    """Return the next moment that a local clock shows a time.

    Args:
        text: `HH:MM`.
        now: The moment, with its time zone.

    Raises:
        UsageError: If that is no time of day, or more than `LONGEST_GRANT` ahead.
    """
    read = _TIME.fullmatch(text)
    if read is None:
        raise UsageError(f"{quoted(text)} is no time of day", hint="Write it as HH:MM, for example 17:30.")
    # Without a zone while a day is added: what the local clock shows then may be another offset from UTC.
    local = now.astimezone().replace(tzinfo=None)
    end = local.replace(hour=int(read[1]), minute=int(read[2]), second=0, microsecond=0)
    moment = (end if end > local else end + timedelta(days=1)).astimezone()
    if moment - now > LONGEST_GRANT:
        raise UsageError(
            f"{text} is more than 8 hours away", hint="Say an earlier time, or approve it for the session."
        )
    return moment


def offered_ends(now: datetime) -> Iterator[str]:
    """Yield the ends to choose from, as `read_end` takes them, the nearest first."""
    for hours in _HOURS:
        yield f"{(now + timedelta(hours=hours)).astimezone():%H:%M}"


def shown_end(moment: datetime) -> str:
    """Return an end as people read it, with the zone that it is told in."""
    return f"{moment.astimezone():%H:%M %Z}"
