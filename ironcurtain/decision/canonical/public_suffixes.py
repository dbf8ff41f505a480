"""Public suffixes: the names under which strangers register their own (`com`, `co.uk`, `github.io`)."""

from __future__ import annotations

import functools
import hashlib
from importlib import resources

from publicsuffixlist import PublicSuffixList


def is_public_suffix(domain: str) -> bool:
    """Tell whether strangers register names directly below a canonical domain.

    Private suffixes (`github.io`) count, and so does every single label that the list does not know.
    """
    return _full_list().is_public(domain) is True


def is_icann_suffix(domain: str) -> bool:
    """Tell whether a canonical domain is a suffix of the domain name system itself (`com`, `co.uk`)."""
    return _icann_list().is_public(domain) is True


@functools.cache
def list_digest() -> str:
    """Return the SHA-256 of the list in use, as `sha256:<hex>`, for the bundle's manifest."""
    data = resources.files("publicsuffixlist").joinpath("public_suffix_list.dat").read_bytes()
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@functools.cache
def _full_list() -> PublicSuffixList:
    return PublicSuffixList()


@functools.cache
def _icann_list() -> PublicSuffixList:
    return PublicSuffixList(only_icann=True, accept_unknown=False)
