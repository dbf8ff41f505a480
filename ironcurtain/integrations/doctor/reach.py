"""Does what the rules permit agree with what the servers' sandboxes let through?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.enforcement.sandbox.reach.agreement import disagreements, reach_words
from ironcurtain.enforcement.sandbox.reach.reach import reach_of
from ironcurtain.integrations.doctor.report import Diagnosis
from ironcurtain.model.verdict import Verdict
from ironcurtain.servers.config import ServerConfig, real_paths
from ironcurtain.system.text import visible


def reach(content: PolicyContent, config: ServerConfig, home: Path) -> Iterator[Diagnosis]:
    """Tell what each contained server and approved calls reach, and what of that no sandbox lets through.

    Args:
        content: The policy.
        config: The servers.
        home: The home directory.
    """
    for each in disagreements(content, config):
        yield Diagnosis(name="sandbox", status="warn", what=each.what, fix=each.fix)
    for name, server in config.servers.items():
        if not server.command or server.sandbox is False:
            continue
        found = reach_of(content, name)
        words = reach_words(reach_of(content, name, {Verdict.ALLOW}), found)
        yield Diagnosis(name="sandbox", status="ok", what=f"server {visible(name)}: {words}")
        for place in _absent((*found.reads.named, *found.writes.named), config, home):
            yield Diagnosis(
                name="sandbox",
                status="warn",
                what=f"server {visible(name)}: rules speak of {visible(place)}, which is not there",
                fix="Make it; the server reaches it from its next start on.",
            )
        for place in _not_ours(found.writes.named, config, home):
            yield Diagnosis(
                name="sandbox",
                status="warn",
                what=f"server {visible(name)}: rules let it write {visible(place)}, which your user cannot",
                fix="Give your user the right, or name another place in the constitution.",
            )


def _absent(named: tuple[str, ...], config: ServerConfig, home: Path) -> list[str]:
    return [place for place in dict.fromkeys(named) if not _real(place, config, home).exists()]


def _not_ours(named: tuple[str, ...], config: ServerConfig, home: Path) -> list[str]:
    real = {place: _real(place, config, home) for place in dict.fromkeys(named)}
    return [place for place, path in real.items() if path.exists() and not os.access(path, os.W_OK)]


def _real(place: str, config: ServerConfig, home: Path) -> Path:
    return real_paths([place], home=home, directory=config.directory)[0]
