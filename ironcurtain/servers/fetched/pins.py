"""The grammar of pins: versions in the user's own registry with digests, and nothing else.

A lock is a generated file, which nobody reads line by line. Package managers take addresses, paths and
options from theirs, and run code for some of them, so only what is understood here is written for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from ironcurtain.system import json_text
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.text import quoted, visible

_PART = r"[A-Za-z0-9~_-][A-Za-z0-9._~-]*"
_NAME = rf"(?:@{_PART}/)?{_PART}"
_PATH = re.compile(rf"node_modules/{_NAME}(?:/node_modules/{_NAME})*")
_RANGE = re.compile(rf"(?:npm:{_NAME}(?:@(?=.)|$))?(?!\.)[A-Za-z0-9^~<>=.*|+ ,_-]*")
_ARCHIVE = re.compile(r"\.(?:tgz|tar|tar\.gz)$", re.IGNORECASE)
_REQUIREMENT = re.compile(
    r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?==[A-Za-z0-9][A-Za-z0-9.!+_-]*"
    r"(?: ; [A-Za-z0-9_.'\"<>=!~() ]+)?(?: --hash=sha256:[0-9a-f]{64})+"
)
_PINNED = "a version of the registry with its digest is wanted: no address, path, link or option"


def _in_registry(text: str) -> str:
    if _RANGE.fullmatch(text.strip()) is None or _ARCHIVE.search(text.strip()):
        raise ValueError(f"{quoted(text)} is no version in the registry")
    return text


def _in_package(text: str) -> str:
    if text.startswith("/") or ".." in text.split("/"):
        raise ValueError(f"{quoted(text)} lies outside its package")
    return text


Name: TypeAlias = Annotated[str, StringConstraints(pattern=rf"^{_NAME}$")]
Needs: TypeAlias = dict[Name, Annotated[str, AfterValidator(_in_registry)]]
Version: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.!+_-]*$")]
Programs: TypeAlias = dict[
    Annotated[str, StringConstraints(pattern=rf"^{_PART}$")], Annotated[str, AfterValidator(_in_package)]
]


class NpmPackage(BaseModel):
    """One package of npm's lock; what is not named here is not handed on.

    Attributes:
        name: The package, where it is installed under another name.
        resolved: npm's lock holds an address here for what is not of the registry.
        link: Whether it is a link to a directory elsewhere.
        in_bundle: Whether it lies in the archive of a package above it.
    """

    model_config = ConfigDict(
        alias_generator=to_camel, frozen=True, extra="ignore", strict=True, defer_build=True
    )

    name: Name | None = None
    version: Version
    resolved: None = None
    link: None = None
    integrity: Annotated[str, StringConstraints(pattern=r"^sha(?:256|384|512)-[A-Za-z0-9+/=]+$")] | None = (
        None
    )
    dependencies: Needs | None = None
    optional_dependencies: Needs | None = None
    peer_dependencies: Needs | None = None
    peer_dependencies_meta: dict[str, dict[str, bool]] | None = None
    bundle_dependencies: tuple[Name, ...] | bool | None = None
    bin: Programs | None = None
    os: tuple[str, ...] | None = None
    cpu: tuple[str, ...] | None = None
    libc: tuple[str, ...] | None = None
    optional: bool | None = None
    peer: bool | None = None
    dev_optional: bool | None = None
    has_install_script: bool | None = None
    in_bundle: bool | None = None


class NpmLock(BaseModel):
    """npm's lock, `package-lock.json`: each package by the path that it is installed at."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)

    packages: dict[str, NpmPackage] = Field(min_length=1)

    def text(self, names: Sequence[str]) -> str:
        """Return it as npm reads it, with the packages that are wanted in the versions that it pins."""
        top: JsonSource = {"name": "fetched", "version": "0.0.0", "dependencies": self.versions(names)}
        packages = {
            path: each.model_dump(mode="json", by_alias=True, exclude_none=True)
            for path, each in self.packages.items()
        }
        return json_text.pretty(
            {"name": "fetched", "version": "0.0.0", "lockfileVersion": 3, "packages": {"": top, **packages}}
        )

    def versions(self, names: Sequence[str]) -> dict[str, str]:
        """Return the versions of packages that were asked for.

        Raises:
            ValueError: If one is not there, or is another package under its name.
        """
        found = {name: self.packages.get(f"node_modules/{name}") for name in names}
        for name, package in found.items():
            if package is None or package.name not in {None, name}:
                raise ValueError(f"{quoted(name)} was asked for, and is not what is pinned under its name")
        return {name: package.version for name, package in found.items() if package is not None}


def npm_lock(text: str) -> NpmLock:
    """Read npm's lock.

    Raises:
        ValueError: If it names anything but packages of the registry; names the package.
    """
    try:
        document = json.loads(text)
        packages = {path: entry for path, entry in document["packages"].items() if path}
        lock = NpmLock.model_validate_json(json.dumps({"packages": packages}))
    except ValidationError as error:
        first = error.errors()[0]
        place = visible("/".join(map(str, first["loc"][1:])))
        raise ValueError(f"{place}: {first['msg']}; {_PINNED}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("the lock of npm is not one") from None
    for path in lock.packages:
        if _PATH.fullmatch(path) is None or not _has_digest(lock.packages, path):
            raise ValueError(f"{visible(path)}: {_PINNED}")
    return lock


def _has_digest(packages: Mapping[str, NpmPackage], path: str) -> bool:
    """Tell whether a package has a digest, or the one whose archive it lies in."""
    while (package := packages.get(path)) is not None:
        if package.integrity is not None:
            return True
        if not package.in_bundle:
            return False
        path = path.rpartition("/node_modules/")[0]
    return False


def check_requirements(lines: Sequence[str]) -> None:
    """See that each line of Python requirements is a version with its digests.

    Raises:
        ValueError: If one is not.
    """
    for line in lines:
        if _REQUIREMENT.fullmatch(line) is None:
            raise ValueError(f"{quoted(line)}: {_PINNED}")
