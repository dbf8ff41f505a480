"""What real git would touch: the places of a repository, and the URLs behind a remote.

`repository_places` runs one git process and `remote_urls` two, so a call that needs both runs three; in a
repository with submodules it runs one more, and one for each of them that is there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ironcurtain.decision.canonical.git.config import GitSettings, Setting, read_settings
from ironcurtain.decision.canonical.git.linked import lent, linked
from ironcurtain.decision.canonical.git.local_remotes import is_local, local_path, other_places
from ironcurtain.decision.canonical.git.process import PLACING, REDIRECTING, Git, GitFailedError
from ironcurtain.decision.canonical.git.survey import RepositorySurvey, Survey, survey
from ironcurtain.decision.canonical.host_view import RemoteUrls, RepositoryPlaces, UnreadableError
from ironcurtain.decision.canonical.paths import is_within
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
    """Return why the remotes of these names cannot be known for sure, or None."""
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


_REFUSED_ELSEWHERE = re.compile(r"-|[A-Za-z0-9+.-]*::|.*[\x00-\x1f\x7f-\x9f]", re.DOTALL)
_MAXIMUM_NAMES = 100


def repository_places(path: str, *, git: Git, surveyed: Survey = survey) -> RepositoryPlaces | None:
    """Return the directories of the repository that git would use from a directory.

    Args:
        path: Real absolute path; where nothing stands there yet, its deepest existing directory counts.
        git: The git of the server.
        surveyed: Says where the repository is.

    Returns:
        The places as real absolute paths, or None if git uses no repository there.

    Raises:
        UnreadableError: If git is missing, refuses to work there, or gives no clear answer.
    """
    try:
        place = surveyed(_existing(path), git)
        if place is None:
            return None
        others = linked(place, git=git)
    except GitFailedError as error:
        raise UnreadableError(error.reason) from error
    common = os.path.realpath(place.common)
    own = common if place.git_directory == place.common else os.path.realpath(place.git_directory)
    if not is_within(own, common):
        raise UnreadableError("the repository keeps a work tree's own state outside its git directory")
    # Where no step of the way to the git directory is a link, none of the way to a directory above it is.
    is_real = place.top is None or (common == place.common and is_within(common, place.top))
    top = place.top if is_real or place.top is None else os.path.realpath(place.top)
    others = others.outside(top, common)
    return RepositoryPlaces(top, common, others.stores, others.repositories, others.worktrees)


def remote_urls(
    repository: str | None, remote: str | None, *, git: Git, surveyed: Survey = survey
) -> RemoteUrls:
    """Return every URL that git could contact, to fetch or to push, for one remote argument.

    Args:
        repository: Real path of the call's repository, or None if the call has none.
        remote: The argument: a URL, a name, or None when it is absent.
        git: The git of the server.
        surveyed: Says where the repository is.

    Returns:
        The URLs in git's spelling, relative local paths joined to the directory that git means by them,
        and the other directories that git opens for local ones; and why the set cannot be known, if so.
        Never raises for anything a repository can hold.
    """
    if remote is not None and _REFUSED_ELSEWHERE.match(remote):
        return RemoteUrls((remote,))
    if remote is not None and not (remote and _is_text(remote)):
        return RemoteUrls((), "the remote is empty or no text")
    if repository is not None and not _is_directory(Path(repository)):
        return RemoteUrls((), "the repository does not exist")
    reason = environment_redirect(git.environ)
    if reason:
        return RemoteUrls((), reason)
    try:
        place = None if repository is None else surveyed(repository, git)
        settings = read_settings(repository or os.sep, git=git)
        return _resolve(settings, place, remote)
    except GitFailedError as error:
        return RemoteUrls((), error.reason)


def _existing(path: str) -> str:
    while not os.path.isdir(path) and path != "/":  # noqa: PTH112 - a `Path` costs more than the look
        path = os.path.dirname(path)  # noqa: PTH120 - as above
    return path


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        # Not to be looked at (no permission, too long a name): git cannot work there either.
        return False


def _resolve(settings: GitSettings, place: RepositorySurvey | None, remote: str | None) -> RemoteUrls:
    if place is None and (remote is None or _is_name(remote)):
        return RemoteUrls((), "there is no repository that could say what the remote means")
    names = _names(settings, place, remote)
    contacts = [settings.contacts(name) for name in names]
    plain = (url for contact in contacts for url in (*contact.fetch, *contact.push))
    joined = dict.fromkeys(_joined(url, place) for url in plain)
    opened = dict.fromkeys(found for url in joined for found in (url, *other_places(url)))
    borrowed = (store for each in opened if (path := local_path(each)) for store in lent(path))
    urls = tuple(dict.fromkeys((*opened, *borrowed)))
    return RemoteUrls(urls, _doubt(settings, place, remote, names, urls))


def _doubt(
    settings: GitSettings,
    place: RepositorySurvey | None,
    remote: str | None,
    names: tuple[str, ...],
    urls: tuple[str, ...],
) -> str | None:
    """Return why the URLs may not be all that git contacts, or None."""
    if remote is None and place is not None and not place.branch_known:
        return "the current branch cannot be told"
    if not names:
        return "the repository has no remote that could be meant"
    for url in urls:
        if not url or not _is_text(url):
            return f"the URL {quoted(url)} is no text that could be judged"
    return configured_redirect(settings, names, place)


def _names(settings: GitSettings, place: RepositorySurvey | None, remote: str | None) -> tuple[str, ...]:
    """Return the names of all remotes that git could use, groups and promisors resolved."""
    if remote is None and place is not None:
        first = _absent(settings, place)
    elif place is None:
        # A clone makes the new remote under this name, to which the configuration may already add URLs.
        default = settings.last("clone", None, "defaultremotename") or "origin"
        first = (remote or "", *((default,) if settings.is_configured(default) else ()))
    else:
        first = (remote or "",)
    waiting = [*first, *(_promisors(settings) if first else ())]
    names: dict[str, None] = {}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        if len(seen) > _MAXIMUM_NAMES:
            raise GitFailedError(f"more than {_MAXIMUM_NAMES} remotes could be meant")
        if _could_be_contacted(settings, place, name):
            names[name] = None
        waiting += [member for member in settings.group(name) if member not in seen]
    return tuple(names)


def _absent(settings: GitSettings, place: RepositorySurvey) -> tuple[str, ...]:
    """Return the remotes that git uses when none is given: to fetch, and to push."""
    default = settings.remotes[0] if len(settings.remotes) == 1 else "origin"
    fallback = default if _could_be_contacted(settings, place, default) else None
    tracking = settings.last("branch", place.branch, "remote") if place.branch else None
    push_remote = settings.last("branch", place.branch, "pushremote") if place.branch else None
    push = push_remote if push_remote is not None else settings.last("remote", None, "pushdefault")
    if push is not None and " " in push:
        raise GitFailedError("remote.pushDefault names several remotes, which git versions read differently")
    chosen = [tracking, push if push is not None else tracking]
    if settings.is_on("fetch", None, "all"):
        chosen += settings.remotes
    # A remote that was deleted is nothing that git could contact; what a tool takes instead is the default.
    real = [n if n is not None and _could_be_contacted(settings, place, n) else fallback for n in chosen]
    return tuple(dict.fromkeys(name for name in real if name is not None))


def _promisors(settings: GitSettings) -> tuple[str, ...]:
    """Return the remotes from which git fetches missing objects in the middle of anything."""
    named = settings.last("extensions", None, "partialclone")
    promised = (name for name in settings.remotes if settings.is_on("remote", name, "promisor"))
    return (*((named,) if named else ()), *promised)


def _could_be_contacted(settings: GitSettings, place: RepositorySurvey | None, name: str) -> bool:
    """Tell whether git could reach anything under the name: configured, rewritten, a URL or a real path."""
    if settings.is_configured(name) or not _is_name(name) or settings.rewritten(name) != name:
        return True
    if settings.contacts(name).push != (name,):
        return True
    if place is None:
        return False
    local = (Path(place.base, name + suffix) for suffix in ("", ".git", ".bundle"))
    legacy = (Path(place.common, directory, name) for directory in ("remotes", "branches"))
    return any(os.path.lexists(path) for path in (*local, *legacy))


def _is_name(remote: str) -> bool:
    """Tell whether the text can only be a name or a directory beside: it has no slash and no colon."""
    return "/" not in remote and ":" not in remote


def _joined(url: str, place: RepositorySurvey | None) -> str:
    relative = is_local(url) and not url.startswith(("/", "~"))
    return str(Path(place.base, url)) if place is not None and url and relative else url


def _is_text(url: str) -> bool:
    try:
        url.encode()
    except UnicodeEncodeError:
        return False
    return True
