"""Git's configuration as data, and the URLs that git makes of a remote's name by it.

The rules are those of git's own remote.c; the tests hold them to real git.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from ironcurtain.decision.canonical.git.process import (
    OVERRIDES,
    Git,
    GitFailedError,
    run_git,
    to_bytes,
    to_text,
)
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

_LIST = ("config", "--list", "--includes", "--show-scope", "-z")
_OFF = frozenset({"false", "no", "off", "0", ""})


class Setting(Struct):
    """One entry of git's configuration.

    Attributes:
        scope: system, global, local, worktree or command.
        section: In lower case.
        subsection: As written, or None.
        key: In lower case.
        value: None where the entry has no `=` (which git reads as true).
    """

    scope: str
    section: str
    subsection: str | None
    key: str
    value: str | None

    @property
    def name(self) -> str:
        """The whole name in git's spelling, `section[.subsection].key`; untrusted text."""
        return ".".join(part for part in (self.section, self.subsection, self.key) if part is not None)

    @property
    def is_off(self) -> bool:
        """Whether git reads the value as false."""
        return self.value is not None and self.value.lower() in _OFF


class Contacts(Struct):
    """The URLs of one remote.

    Attributes:
        fetch: What git fetches from.
        push: What git pushes to.
    """

    fetch: tuple[str, ...]
    push: tuple[str, ...]


class _Rewrites(Struct):
    """One kind of `url.*` setting: what replaces a prefix, and all lengths of prefixes, longest first."""

    bases: Mapping[bytes, str]
    lengths: tuple[int, ...]


class GitSettings:
    """The whole configuration that git would use in one place, in git's order."""

    def __init__(self, settings: tuple[Setting, ...]) -> None:
        self._settings = settings
        self._index: dict[tuple[str, str | None, str], list[Setting]] = defaultdict(list)
        for setting in settings:
            self._index[setting.section, setting.subsection, setting.key].append(setting)

    def __iter__(self) -> Iterator[Setting]:
        """Iterate over all settings in git's order."""
        return iter(self._settings)

    def values(self, section: str, subsection: str | None, key: str) -> list[str]:
        """Return all values of one setting, in order.

        Raises:
            GitFailedError: If one has no value, where git itself refuses to go on.
        """
        values = []
        for setting in self._index.get((section, subsection, key), []):
            if setting.value is None:
                raise GitFailedError(f"the setting {quoted(setting.name)} has no value")
            values.append(setting.value)
        return values

    def last(self, section: str, subsection: str | None, key: str) -> str | None:
        """Return the value of a setting of which the last one counts, or None if it is not set.

        Raises:
            GitFailedError: As `values`.
        """
        values = self.values(section, subsection, key)
        return values[-1] if values else None

    def is_on(self, section: str, subsection: str | None, key: str) -> bool:
        """Tell whether the last value of a setting is there and not false."""
        values = self._index.get((section, subsection, key), [])
        return bool(values) and not values[-1].is_off

    def is_off(self, section: str, subsection: str | None, key: str) -> bool:
        """Tell whether the last value of a setting is there and false."""
        values = self._index.get((section, subsection, key), [])
        return bool(values) and values[-1].is_off

    @cached_property
    def remotes(self) -> tuple[str, ...]:
        """Names of all remotes that any setting mentions, in order of first mention."""
        named = (s.subsection for s in self._settings if s.section == "remote" and s.subsection)
        return tuple(dict.fromkeys(name for name in named if not name.startswith("/")))

    def group(self, name: str) -> tuple[str, ...]:
        """Return the members of the remote group of that name; empty if there is none."""
        return self._groups.get(name, ())

    def is_configured(self, name: str) -> bool:
        """Tell whether git has a remote of that name: with a URL, or with a program to do without."""
        return not name.startswith("/") and any(
            ("remote", name, key) in self._index for key in ("url", "vcs")
        )

    def contacts(self, name: str) -> Contacts:
        """Return the URLs that git makes of a remote's name or of a URL.

        Without a configured URL the name itself is taken for the URL, as git does.

        Raises:
            GitFailedError: If a value is missing, or empty (which git versions read differently).
        """
        configured = "" if name.startswith("/") else name
        urls = self.values("remote", configured, "url") if configured else []
        pushes = self.values("remote", configured, "pushurl") if configured else []
        if "" in (*urls, *pushes):
            raise GitFailedError(f"the remote {quoted(name)} has an empty URL")
        fetch = [self.rewritten(url) for url in urls]
        push = [self.rewritten(url) for url in pushes]
        if not push:
            push = [new for url in urls if (new := self._alias(url, "pushinsteadof")) is not None]
        if not fetch:
            fetch = [self.rewritten(name)]
            push += [new] if (new := self._alias(name, "pushinsteadof")) is not None else []
        return Contacts(tuple(fetch), tuple(push or fetch))

    def rewritten(self, url: str) -> str:
        """Return the URL after `url.*.insteadOf`."""
        alias = self._alias(url, "insteadof")
        return url if alias is None else alias

    def _alias(self, url: str, key: str) -> str | None:
        rewrites = self._rewrites[key]
        # git compares bytes, and a prefix may end inside a character.
        encoded = to_bytes(url)
        for length in rewrites.lengths:
            base = rewrites.bases.get(encoded[:length])
            if base is not None and length <= len(encoded):
                return to_text(to_bytes(base) + encoded[length:])
        return None

    @cached_property
    def _rewrites(self) -> dict[str, _Rewrites]:
        rewrites = {}
        for key in ("insteadof", "pushinsteadof"):
            mentions = (s for s in self._settings if s.section == "url" and s.key == key)
            bases = dict.fromkeys(s.subsection for s in mentions if s.subsection is not None)
            # Of two bases for one prefix git takes the one mentioned first, so it is written last here.
            pairs = [(to_bytes(old), base) for base in bases for old in self.values("url", base, key)]
            table = dict(reversed(pairs))
            rewrites[key] = _Rewrites(table, tuple(sorted({len(old) for old in table}, reverse=True)))
        return rewrites

    @cached_property
    def _groups(self) -> dict[str, tuple[str, ...]]:
        members: dict[str, dict[str, None]] = defaultdict(dict)
        for setting in self._settings:
            if setting.section == "remotes":
                # git compares the whole rest of the name, so a group's name may hold dots.
                words = re.split(r"[ \t\n]", setting.value or "")
                members[setting.name.removeprefix("remotes.")] |= dict.fromkeys(
                    word for word in words if word
                )
        return {name: tuple(words) for name, words in members.items()}


def read_settings(directory: str, *, git: Git) -> GitSettings:
    """Return the configuration that git would use from a directory: one git process.

    Raises:
        GitFailedError: If git refuses it, or gives no clear answer.
    """
    answer = run_git(_LIST, directory=directory, git=git)
    if answer.status:
        raise GitFailedError(f"git refuses its configuration: {quoted(answer.errors.strip())}")
    fields = answer.output.split("\0")
    settings = tuple(_setting(*pair) for pair in zip(fields[::2], fields[1::2], strict=False))
    ours = tuple((setting.name, setting.value) for setting in settings[-len(OVERRIDES) :])
    if ours != OVERRIDES:
        raise GitFailedError("git's answer about its configuration could not be read")
    return GitSettings(settings[: -len(OVERRIDES)])


def _setting(scope: str, entry: str) -> Setting:
    name, separator, value = entry.partition("\n")
    section, _, rest = name.partition(".")
    subsection, dot, key = rest.rpartition(".")
    return Setting(scope, section, subsection if dot else None, key, value if separator else None)
