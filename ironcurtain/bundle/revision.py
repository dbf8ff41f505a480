"""The revision of a bundle: a digest of its content that directory and archive share."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from ironcurtain.system import json_text

MANIFEST = ".manifest"
SIGNATURES = ".signatures.json"
_TEST_SUFFIX = "_test.rego"


def is_test(path: str) -> bool:
    """Tell whether a file of a bundle is a Rego test: it travels in the directory, not in the archive."""
    return path.endswith(_TEST_SUFFIX)


def digests_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the SHA-256 of every file that counts: not tests, `.manifest` and `.signatures.json`."""
    return {
        path: hashlib.sha256(content).hexdigest()
        for path, content in sorted(files.items())
        if path not in {MANIFEST, SIGNATURES} and not is_test(path)
    }


def revision_of(files: Mapping[str, bytes]) -> str:
    """Return `sha256:<hex>` over the sorted (path, digest) list of files that count (specification 5.3)."""
    return json_text.digest([[path, digest] for path, digest in digests_of(files).items()])
