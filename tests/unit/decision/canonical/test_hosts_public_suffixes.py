"""Public suffixes, and the identity of the list."""

from __future__ import annotations

import hashlib
from pathlib import Path

import publicsuffixlist
import pytest

from ironcurtain.decision.canonical.hosts import is_icann_suffix, is_public_suffix, list_digest


@pytest.mark.parametrize(
    ("domain", "public", "icann"),
    [
        ("com", True, True),
        ("co.uk", True, True),
        ("xn--p1ai", True, True),
        ("foo.ck", True, True),
        ("www.ck", False, False),
        ("github.io", True, False),
        ("s3.amazonaws.com", True, False),
        ("nosuchtld", True, False),
        ("example.com", False, False),
        ("city.kawasaki.jp", False, False),
    ],
)
def test_suffixes(domain: str, *, public: bool, icann: bool) -> None:
    assert (is_public_suffix(domain), is_icann_suffix(domain)) == (public, icann)


def test_the_digest_is_that_of_the_shipped_file() -> None:
    data = Path(publicsuffixlist.PSLFILE).read_bytes()
    assert list_digest() == "sha256:" + hashlib.sha256(data).hexdigest()
