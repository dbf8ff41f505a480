"""Git remotes as resources: everything that git could contact for one remote argument (specification 1.5)."""

from __future__ import annotations

from ironcurtain.decision.canonical.characters import check_plain, trimmed
from ironcurtain.decision.canonical.host_view import HostView, RemoteUrls
from ironcurtain.decision.canonical.paths import Resolver
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import check_remote_text, is_local_remote, parse_remote_url
from ironcurtain.decision.roles import GIT_REMOTE, Registry
from ironcurtain.system.text import visible


class RemoteCanonicalizer:
    """Turns remote arguments of one call into resources."""

    def __init__(
        self, world: HostView, server: str, resolver: Resolver, registry: Registry, working_root: str | None
    ) -> None:
        self._world = world
        self._server = server
        self._resolver = resolver
        self._registry = registry
        self._working_root = working_root

    def given(
        self, text: str, at: str, repository: str | None, *, assume_scheme: str | None = None
    ) -> tuple[list[Resource], str]:
        """Judge a remote that the call names; return its resources and the text to send.

        A URL is sent re-serialised, a local path as its real path, a name as given: git's own
        rewriting rules are applied to what is sent, never to another spelling of it.

        Raises:
            UnrepresentableError: If it is a transport helper, an option, or no remote at all.
        """
        if text != trimmed(text):
            raise UnrepresentableError("begins or ends with a blank or with a character that cannot be seen")
        local = is_local_remote(text)
        if local is None and assume_scheme is not None and "://" not in text:
            check_remote_text(text)
            text = f"{assume_scheme}://{text}"
        if local is not None:
            sent = self._resolver.resolve(local, repository or self._working_root)
        elif _is_url(text):
            sent = parse_remote_url(text).text
            self._refuse_local_namesake(sent, repository)
        else:
            sent = _checked_name(text)
        remote = self._world.remote(repository, sent, server=self._server)
        return self._subjects(remote, at, repository, name=sent), sent

    def absent(self, at: str, repository: str) -> list[Resource]:
        """Judge the remote that git itself chooses in the repository when none is given."""
        remote = self._world.remote(repository, None, server=self._server)
        return self._subjects(remote, at, repository, name="")

    def _subjects(self, found: RemoteUrls, at: str, repository: str | None, *, name: str) -> list[Resource]:
        resources = [resource for url in found.urls for resource in self._contacted(url, at, repository)]
        if found.unresolved is not None or not resources:
            reason = found.unresolved or "git names no URL for it"
            resources.append(self._unresolved(name, at, reason))
        return resources

    def _contacted(self, url: str, at: str, repository: str | None) -> list[Resource]:
        local = is_local_remote(url)
        if local is None and _is_url(url):
            parsed = parse_remote_url(url)
            return [Resource("", self._registry[GIT_REMOTE], parsed.text, at, resource=parsed)]
        path = url if local is None else local
        if path.startswith("~"):
            # Who expands it, and to what, depends on the transport that git picks.
            return [self._unresolved(path, at, "a configured path that begins with a tilde")]
        real = self._resolver.resolve(path, repository or self._working_root)
        roles = (self._registry["read-path"], self._registry["write-path"])
        return [Resource("", role, real, at, resource=real) for role in roles]

    def _unresolved(self, value: str, at: str, reason: str) -> Resource:
        return Resource("", self._registry[GIT_REMOTE], visible(value), at, unresolved=reason)

    def _refuse_local_namesake(self, url: str, repository: str | None) -> None:
        """Outside a repository git takes an existing path of that name before it takes a URL."""
        if repository is None and self._working_root is not None:
            namesake = f"{self._working_root}/{url.replace('//', '/')}"
            if self._world.entry(namesake) is not None:
                raise UnrepresentableError("is a URL and also the name of a local directory")


def _is_url(text: str) -> bool:
    """Tell a URL or scp-like form from a name or a relative path, as git does: by its colon."""
    colon, slash = text.find(":"), text.find("/")
    return colon != -1 and (slash == -1 or colon < slash)


def _checked_name(text: str) -> str:
    if not text or text.startswith("-") or any(not c.isprintable() for c in text):
        raise UnrepresentableError("is no name of a git remote")
    check_plain(text)
    return text
