"""The role registry: every role an argument can carry, built-in ones and those a project adds.

Annotation schemas, validation, the annotator's prompt, OPA's input schema and the sentences about roles
read this table. A built-in identifier also has its canonical form in `canonical/identifiers.py` and its
patterns in `canonical/patterns.py`; CONTRIBUTING.md has the recipe.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ironcurtain.errors import AnnotationError
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.system.structs import Struct

Category = Literal["path", "url", "identifier", "opaque"]

NONE = "none"
"""The role of leaves that are nothing to security, and of the entry `call`."""

GIT_REMOTE = "git-remote-url"
"""The role of remotes of git: a URL, or a name that the repository's configuration gives one."""


class Verb(Struct):
    """What a call does to what a role names, in sentences to people and agents; empty where no word fits.

    Attributes:
        present: "it `reads` the file".
        gerund: "`reading` the file is not permitted".
        participle: "what may be `read`".
    """

    present: str
    gerund: str = ""
    participle: str = ""


class Role(Struct):
    """One role.

    Attributes:
        category: What kind of patterns speak of it: `path`, `url`, `identifier`; `opaque` has none.
        containable: Whether lying in the sandbox may discharge it.
        form: The canonical form, for documentation.
        sample: A value that every call may have under it, with a word in place of `{word}`.
        refused: Of a role that names no resource, an expression in RE2's syntax that finds the texts which no
            call may have under it; empty where it takes any.
        description: What the role means.
        guidance: How the annotator recognises it.
        writes: Whether it changes or deletes what it names.
        verb: What a call does to what it names.
        identifier: The declaration behind a role that a project added.
    """

    name: str
    category: Category
    form: str
    description: str
    guidance: str
    containable: bool = False
    sample: str = "{word}"
    refused: str = ""
    writes: bool = False
    verb: Verb | None = None
    identifier: IdentifierRole | None = None

    def valid(self, word: str) -> str:
        """Return a value that the role takes, made of a word of lower-case letters and digits."""
        return self.sample.replace("{word}", word)

    @property
    def resource(self) -> bool:
        """Whether each leaf with it identifies a resource, which a policy has to justify."""
        return self.category != "opaque"

    @property
    def pattern_kind(self) -> str:
        """The family of patterns that cover its resources: `path`, `url`, or an identifier role itself."""
        return self.name if self.category == "identifier" else self.category


_PATH_FORM = "real absolute path"
_PATH = "/{word}/{word}"
_URL = "https://{word}.example/{word}"
# git-check-ref-format(1), rules 1 to 9, `HEAD`, which git refuses as a branch, and the folders of references:
# behind them git finds a branch that has another name here.
NO_BRANCH = (
    r"^(?:refs|heads|tags|remotes)/|"
    r"(?:^|/)\.|\.\.|[\x00-\x20\x7f~^:?*\[\\]|^/|/$|//|\.$|@\{|^@$|\.lock(?:/|$)|^[-+]|^HEAD$|^$"
)

BUILT_IN: tuple[Role, ...] = (
    Role(
        "read-path",
        "path",
        containable=True,
        form=_PATH_FORM,
        sample=_PATH,
        description="A file or directory that the tool reads, lists or inspects.",
        guidance="Any path whose content, names or metadata reach the caller. The source of a move or "
        "copy is read too.",
        verb=Verb("reads", "reading", "read"),
    ),
    Role(
        "write-path",
        "path",
        containable=True,
        form=_PATH_FORM,
        sample=_PATH,
        description="A file or directory that the tool creates or changes.",
        guidance="Any path that exists, or differs, only because the tool ran. An edit reads too.",
        writes=True,
        verb=Verb("changes", "writing to", "written"),
    ),
    Role(
        "delete-path",
        "path",
        containable=True,
        form=_PATH_FORM,
        sample=_PATH,
        description="A file or directory that is gone from its place afterwards.",
        guidance="The target of a removal, and the source of a move or rename (beside read-path).",
        writes=True,
        verb=Verb("deletes", "deleting", "deleted"),
    ),
    Role(
        "write-history",
        "path",
        form=_PATH_FORM,
        sample=_PATH,
        description="A repository whose recorded history the tool rewrites.",
        guidance="The repository path of reset, rebase, merge, amend, cherry-pick, forced moves of branches.",
        writes=True,
        verb=Verb("rewrites the history of", "changing the history of", "changed in their history"),
    ),
    Role(
        "delete-history",
        "path",
        form=_PATH_FORM,
        sample=_PATH,
        description="A repository in which the tool deletes branches, tags or other references.",
        guidance="The repository path of branch and tag deletion and of stash drop or clear.",
        writes=True,
        verb=Verb("deletes branches or tags of", "deleting history of", "deleted from their history"),
    ),
    Role(
        "fetch-url",
        "url",
        form="URL in WHATWG form, http or https",
        sample=_URL,
        description="A web address that the tool contacts.",
        guidance="Any URL that is fetched, posted to, opened or registered for later contact.",
        verb=Verb("contacts", "fetching", "fetched"),
    ),
    Role(
        GIT_REMOTE,
        "url",
        form="the set of URLs that git would contact",
        sample=_URL,
        description="A git remote, by URL or by name.",
        guidance="The remote of clone, fetch, pull, push, and of every tool that adds or changes a remote.",
        verb=Verb("contacts", "contacting"),
    ),
    Role(
        "recipient",
        "identifier",
        form="one addr-spec, case-folded",
        sample="{word}@{word}.example",
        description="An e-mail address that receives something.",
        guidance="To, cc, bcc, invitees, people a document is shared with.",
        verb=Verb("is addressed to", "sending to", "sent to"),
    ),
    Role(
        "repository",
        "identifier",
        form="owner/name, case-folded",
        sample="{word}/{word}",
        description="A repository on a hosting service.",
        guidance="`owner/name` in one argument, or a composite of an owner and a name argument.",
        verb=Verb("is about the repository"),
    ),
    Role(
        "remote-path",
        "identifier",
        form="unchanged; segments without `.`, `..` or empty ones",
        description="A path inside a remote system.",
        guidance="A file inside a hosted repository, an object key. Never a path on this machine.",
        verb=Verb("is about the remote path"),
    ),
    Role(
        "branch-name",
        "opaque",
        form="unchanged; a valid git branch name without leading `-` or `+` and without `:`",
        refused=NO_BRANCH,
        description="The name of a git branch.",
        guidance="Branch arguments of git tools; the check keeps refspecs and options out of them.",
    ),
    Role(
        "commit-message",
        "opaque",
        form="unchanged",
        description="Free text that becomes a commit message.",
        guidance="Commit and tag messages.",
    ),
    Role(
        NONE,
        "opaque",
        form="unchanged",
        description="Nothing that identifies a resource.",
        guidance="Flags, numbers, content, search texts. When in doubt between `none` and a resource role, "
        "take the resource role.",
    ),
)


class Registry:
    """The built-in roles and a project's identifier roles, by name."""

    def __init__(self, added: Iterable[IdentifierRole] = ()) -> None:
        roles = list(BUILT_IN)
        for declared in added:
            if any(role.name == declared.name for role in roles):
                raise AnnotationError(
                    f"the identifier role {declared.name!r} is declared twice or is a built-in role",
                    hint="Choose another name for it.",
                )
            roles.append(_identifier_role(declared))
        self._roles = {role.name: role for role in roles}

    def __contains__(self, name: str) -> bool:
        """Tell whether there is a role of that name."""
        return name in self._roles

    def __getitem__(self, name: str) -> Role:
        """Return the role of that name; KeyError if there is none."""
        return self._roles[name]

    @property
    def all(self) -> tuple[Role, ...]:
        """Every role, built-in ones first, in their order of declaration."""
        return tuple(self._roles.values())

    @property
    def resources(self) -> tuple[Role, ...]:
        """The roles that identify a resource."""
        return tuple(role for role in self.all if role.resource)

    @property
    def pattern_kinds(self) -> tuple[str, ...]:
        """The families of patterns: `path`, `url` and every identifier role."""
        return tuple(dict.fromkeys(role.pattern_kind for role in self.resources))


def _identifier_role(declared: IdentifierRole) -> Role:
    return Role(
        declared.name,
        "identifier",
        form="case-folded" if declared.case == "fold" else "unchanged",
        description=declared.description,
        guidance=declared.guidance,
        identifier=declared,
    )
