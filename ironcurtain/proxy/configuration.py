"""What a proxy is configured by must be there, and ours: it is refused where others could change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ironcurtain.errors import UsageError
from ironcurtain.ownership import check_all_own, check_own_bundle
from ironcurtain.policy import Policy
from ironcurtain.text import visible


def check_configuration(files: Mapping[str, Path]) -> None:
    """See that nobody else can change what the proxy is configured by.

    Args:
        files: Files that exist, by what they are.

    Raises:
        FileError: Naming the first that others can write, its mode, and what mends it.
    """
    check_all_own((path, what) for what, path in files.items())


def check_sandbox(policy: Policy) -> None:
    """See that the session's working directory is one: a wrong name would be found out by no policy.

    Raises:
        UsageError: If there is no such directory.
    """
    sandbox = policy.loaded.boundaries("").sandbox
    if sandbox is not None and not Path(sandbox).is_dir():
        raise UsageError(
            f"the sandbox {visible(sandbox)} is no directory",
            where="--sandbox",
            hint="Check the name, or make it: mkdir -p DIR",
        )


def load_own(load: Callable[[], Policy], bundle: Path) -> Policy:
    """Return the policy of a bundle that is ours, or is vouched for by a signature or a revision.

    Raises:
        IronCurtainError: If it cannot be loaded, or others could have changed it.
    """
    policy = load()
    if not policy.verified:
        check_own_bundle(bundle)
    return policy
