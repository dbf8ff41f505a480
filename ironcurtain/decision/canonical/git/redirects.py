"""Configuration that sends git elsewhere in ways we do not follow: where it is found, we say so."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ironcurtain.decision.canonical.git.config import GitSettings, Setting
from ironcurtain.decision.canonical.git.process import PLACING, REDIRECTING
from ironcurtain.decision.canonical.git.survey import RepositorySurvey
from ironcurtain.system.text import quoted

# (section, key) with or without a subsection between them. An empty value switches each of them off.
_ELSEWHERE = {
    ("core", "gitproxy"): "a proxy",
    ("http", "proxy"): "a proxy",
    ("http", "curloptresolve"): "other addresses for hosts",
    ("fetch", "bundleuri"): "a place to fetch bundles from",
    ("fetch", "uriprotocols"): "places that the server chooses",
    ("transfer", "bundleuri"): "places that the server chooses",
    ("lfs", "url"): "another place for large files",
    ("lfs", "pushurl"): "another place for large files",
    ("lfs", "standalonetransferagent"): "another program for large files",
    ("remote", "lfsdefault"): "another place for large files",
    ("remote", "lfspushdefault"): "another place for large files",
}
# The same for `remote.<name>.<key>`, where the remote is one of the call's.
_REMOTE = {
    "vcs": "another program for the transfer",
    "proxy": "a proxy",
    "uploadpack": "another program at the other end",
    "receivepack": "another program at the other end",
    "lfsurl": "another place for large files",
    "lfspushurl": "another place for large files",
}
_RECURSION = (("submodule", "recurse"), ("push", "recursesubmodules"), ("fetch", "recursesubmodules"))
# Settings of scopes that a person or the server's operator wrote may name the program; a repository may not.
_REPOSITORY_SCOPES = frozenset({"local", "worktree"})


def environment_redirect(environ: Mapping[str, str]) -> str | None:
    """Return why the server's environment makes the remotes unknowable, or None."""
    for name in (*PLACING, *REDIRECTING):
        if name in environ:
            return f"the environment variable {name} sends git elsewhere"
    return None


def configured_redirect(
    settings: GitSettings, names: tuple[str, ...], survey: RepositorySurvey | None
) -> str | None:
    """Return why the remotes of these names cannot be known for sure, or None.

    Args:
        settings: The configuration.
        names: All remotes that the call may use.
        survey: The repository, if there is one.
    """
    reasons = (*_redirects(settings, names), *_submodules(settings, survey), *_files(survey, names, settings))
    return next(iter(reasons), None)


def _redirects(settings: GitSettings, names: tuple[str, ...]) -> Iterator[str]:
    for setting in settings:
        effect = _effect(setting, names) if setting.value != "" else None
        if effect:
            yield f"the setting {quoted(setting.name)} names {effect}"


def _effect(setting: Setting, names: tuple[str, ...]) -> str | None:
    section, key = setting.section, setting.key
    if section == "remote" and setting.subsection is not None:
        return _remote_effect(setting, names)
    if (section, key) == ("core", "sshcommand") and setting.scope in _REPOSITORY_SCOPES:
        return "another program for ssh"
    if section == "protocol" and key == "allow":
        return "other transports"
    if section == "lfs" and (setting.subsection or "").startswith("customtransfer"):
        return "another program for large files"
    return _ELSEWHERE.get((section, key))


def _remote_effect(setting: Setting, names: tuple[str, ...]) -> str | None:
    if not setting.subsection:
        # git makes a remote of another name of it.
        return "a remote without a name"
    return _REMOTE.get(setting.key) if setting.subsection in names else None


def _submodules(settings: GitSettings, survey: RepositorySurvey | None) -> Iterator[str]:
    for section, key in _RECURSION:
        # `check` only looks at what is known locally.
        if settings.is_on(section, None, key) and settings.last(section, None, key) != "check":
            yield f"the setting {section}.{key} makes git contact the remotes of submodules"
    if _has_submodules(settings, survey) and not settings.is_off("fetch", None, "recursesubmodules"):
        yield "the repository has submodules, which git fetches too unless fetch.recurseSubmodules is false"


def _has_submodules(settings: GitSettings, survey: RepositorySurvey | None) -> bool:
    if any(s.section == "submodule" and s.subsection and s.key in ("url", "active") for s in settings):
        return True
    directories = (survey.common, survey.git_directory) if survey else ()
    return any(os.path.lexists(Path(directory, "modules")) for directory in directories)


def _files(survey: RepositorySurvey | None, names: tuple[str, ...], settings: GitSettings) -> Iterator[str]:
    """Files outside the configuration that redirect: git-lfs' own, and the oldest form of remotes."""
    if survey is None:
        return
    if os.path.lexists(Path(survey.base, ".lfsconfig")):
        yield "the file .lfsconfig may name another place for large files"
    for name in names:
        # git reads these files for plain names only (no slash), and where no URL is configured.
        if name in ("", ".", "..") or "/" in name or settings.is_configured(name):
            continue
        for directory in ("remotes", "branches"):
            if os.path.lexists(Path(survey.common, directory, name)):
                yield f"the remote {quoted(name)} is described in a file under {directory}/"
