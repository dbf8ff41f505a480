"""Are the clients wrapped, does what they start exist, and which servers do they still start themselves?"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from ironcurtain.clients.places import CLIENTS, Place, places
from ironcurtain.clients.target import MAX_BYTES, read_document
from ironcurtain.clients.undo import ENTRY
from ironcurtain.doctor.subject import Subject, failed
from ironcurtain.errors import IronCurtainError
from ironcurtain.files import read_bytes
from ironcurtain.model.base import Json
from ironcurtain.model.doctor import Diagnosis
from ironcurtain.text import visible

_FILES = ("--servers", "--bundle", "--verify-key", "--opa")


def clients(subject: Subject) -> Iterator[Diagnosis]:
    """Look at the clients that were named, which have to be wrapped, or else at all that are there."""
    found = 0
    for name in subject.clients or CLIENTS:
        there = [place for place in places(name, None, subject.cwd) if place.path.exists()]
        found += len(there)
        if subject.clients and not there:
            what = f"{visible(name)} has no configuration"
            fix = "Start the client once, or name the file that it reads."
            yield Diagnosis(name=f"client/{visible(name)}", status="fail", what=what, fix=fix)
        for place in there:
            yield from _client(place, demanded=bool(subject.clients))
    if not found and not subject.clients:
        yield Diagnosis(name="client", status="ok", what="no client's configuration was found")


def _client(place: Place, *, demanded: bool) -> Iterator[Diagnosis]:
    name = f"client/{visible(place.path.name if place.client == 'file' else place.client)}"
    try:
        source = str(place.path)
        document = read_document(read_bytes(place.path, max_bytes=MAX_BYTES), source, place.pointers)
    except IronCurtainError as error:
        yield from failed(name, error)
        return
    servers = document.servers.value if document.servers is not None else {}
    entry = servers.get(ENTRY)
    again = f"ironcurtain wrap {place.client if place.client != 'file' else visible(source)} --bundle …"
    if not isinstance(entry, dict):
        if servers or demanded:
            what = f"{visible(source)} is not wrapped: it starts {len(servers)} servers itself"
            status = "fail" if demanded else "warn"
            yield Diagnosis.model_validate(
                {"name": name, "status": status, "what": what, "fix": f"Run `{again}`."}
            )
        return
    wrong = list(_missing(entry))
    for what in wrong:
        yield Diagnosis(name=name, status="fail", what=what, fix=f"Put it back, or run `{again}` anew.")
    outside = [visible(each) for each in servers if each != ENTRY]
    if outside:
        what = f"{visible(source)} starts servers past the policy: {', '.join(outside)}"
        yield Diagnosis(name=name, status="warn", what=what, fix=f"Run `{again}`, or remove them.")
    if not wrong:
        yield Diagnosis(name=name, status="ok", what=f"{visible(source)} is wrapped")


def _missing(entry: Mapping[str, Json]) -> Iterator[str]:
    """Yield what the client's entry names and what is not there."""
    command = entry.get("command")
    if not isinstance(command, str) or not _runs(command):
        yield f"the client starts {visible(str(command))}, which is no program"
    words = entry.get("args")
    listed = [str(word) for word in words] if isinstance(words, list) else []
    for option, value in itertools.pairwise(listed):
        if option in _FILES and not Path(value).exists():
            yield f"the proxy of the client is started with {option} {visible(value)}, which does not exist"


def _runs(command: str) -> bool:
    if os.sep in command:
        return Path(command).is_file() and os.access(command, os.X_OK)
    return shutil.which(command) is not None
