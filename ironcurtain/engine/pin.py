"""The pin (`opa/version.json`): which OPA we use, what is known of it, why an older one is refused."""

from __future__ import annotations

import functools
import re
from typing import Literal, TypeAlias

from ironcurtain.system import assets
from ironcurtain.system.files import load
from ironcurtain.system.frozen import Frozen

Version: TypeAlias = tuple[int, int, int, bool]
"""Major, minor, patch, and whether it is a release; a pre-release sorts below its release."""

_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)


class Asset(Frozen):
    """A file of the release: its name, and its SHA-256 where we know it."""

    name: str
    sha256: str | None


class Advisory(Frozen):
    """A reason to refuse the versions from `first` up to, not including, `before`."""

    first: str
    before: str
    what: str


class Pin(Frozen):
    """The contents of `opa/version.json`.

    Attributes:
        version: The version we build, test and require at least.
        module: Its Go module path.
        module_hash: The `h1:` hash that `go version -m` prints for an executable built from it.
        minimum_go: The oldest Go that builds it, `major.minor`.
        release: Where its release assets lie.
        digests: What is known of their digests, in words.
        assets: The asset of each platform (`linux_amd64`, …).
        advisories: What is wrong with older versions.
    """

    format: Literal["ironcurtain/opa-pin/v1"]
    version: str
    module: str
    module_hash: str
    minimum_go: str
    release: str
    digests: str
    assets: dict[str, Asset]
    advisories: tuple[Advisory, ...]

    def refusal(self, version: str) -> str | None:
        """Return why an OPA of this version is refused, or None if it is not."""
        found = parse_version(version)
        if found >= parse_version(self.version):
            return None
        known = [a.what for a in self.advisories if parse_version(a.first) <= found < parse_version(a.before)]
        reasons = f", and it has known defects: {'; '.join(known)}" if known else ""
        return f"it is OPA {version}, older than the required {self.version}{reasons}"


@functools.cache
def pin() -> Pin:
    """Return the pin that ships with this version."""
    return load(assets.OPA / "version.json", Pin)


def parse_version(text: str) -> Version:
    """Parse `1.22.2` or `v1.23.0-rc1` into something that sorts.

    Raises:
        ValueError: If it is no version.
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ValueError("not a version")
    major, minor, patch, before_release = found.groups()
    return int(major), int(minor), int(patch), before_release is None
