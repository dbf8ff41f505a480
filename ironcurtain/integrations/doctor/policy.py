"""Is the policy whole, is it the one that was meant, and is it that of its sources?"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.analysis.findings.kinds.unusable_tools import REMEDY
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.bundle.provenance import provenance_of
from ironcurtain.bundle.published import SIGNED_ARCHIVE
from ironcurtain.compiler.load.load import read_constitution
from ironcurtain.compiler.render.rendered import check_rendered
from ironcurtain.decision.canonical.validate import ValidatedTool
from ironcurtain.errors import (
    BundleIntegrityError,
    BundleSignatureError,
    IronCurtainError,
    NewerFormatError,
    SeveralErrors,
)
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation, failed
from ironcurtain.system import json_text
from ironcurtain.system.ownership import check_own_bundle
from ironcurtain.system.text import visible

_CHECKED = "Give --verify-key FILE here and to the proxy (`ironcurtain error signing`)."
_SIGNED = (
    "Sign it (`ironcurtain compile --sign`), and give --verify-key FILE here and to the proxy "
    "(`ironcurtain error signing`)."
)


def bundle(installation: Installation) -> Iterator[Diagnosis]:
    """Look at the bundle: there, intact, signed where a key is known, and its Rego what its rules say."""
    if not installation.bundle.exists():
        yield Diagnosis.fail(
            "bundle",
            f"there is no bundle at {visible(str(installation.bundle))}",
            "Run `ironcurtain compile`, or name one with --bundle.",
            code=BundleIntegrityError.code,
        )
        return
    try:
        trust = Trust.of(
            verify_key=installation.verify_key,
            expect_revision=installation.expect_revision,
            min_serial=installation.min_serial,
        )
        read = open_bundle(installation.bundle, trust)
    except IronCurtainError as error:
        yield from failed("bundle", error, _fix(error))
        return
    what = f"revision {read.revision}, serial {read.serial}"
    if trust.key is not None:
        yield Diagnosis.ok("bundle", f"{what}, {trust.signature_words(read)}")
    elif trust.vouches:
        yield Diagnosis.ok("bundle", f"{what}, as expected")
    else:
        yield from _ownership(
            installation,
            f"{what}, {trust.signature_words(read)}: nothing says that it is yours",
            _CHECKED if read.is_signed else _SIGNED,
        )
    yield from _stale(installation, read)
    try:
        check_rendered(read)
    except IronCurtainError as error:
        yield from failed("rules", error)
    else:
        yield Diagnosis.ok("rules", "the bundle's Rego is what its rules say")
    yield from _unusable(read)


def _unusable(read: Bundle) -> Iterator[Diagnosis]:
    """Tell of tools whose every call is denied, since their schema cannot be evaluated."""
    for (server, _), tool in PolicyContent.of(read).tools.items():
        if (why := ValidatedTool(tool).unusable) is not None:
            named = f"{visible(server)}/{visible(tool.tool)}"
            yield Diagnosis.warn(
                "tools",
                f"every call of {named} is denied, since its schema cannot be evaluated: {why}",
                REMEDY,
            )


def _ownership(installation: Installation, what: str, fix: str) -> Iterator[Diagnosis]:
    """Look who else could change a bundle that nothing vouches for: a proxy refuses to start with it."""
    try:
        check_own_bundle(installation.bundle)
    except IronCurtainError as error:
        yield from failed("bundle", error)
    else:
        yield Diagnosis.warn("bundle", what, fix)


def _stale(installation: Installation, read: Bundle) -> Iterator[Diagnosis]:
    """Hold a project's bundle against the constitution and the signed archive beside it."""
    if installation.sources is None:
        return
    try:
        text, _ = read_constitution(*installation.sources)
    except IronCurtainError as error:
        yield from failed("bundle", error)
        return
    made_of = _made_of(read)
    if made_of is not None and json_text.digest_bytes(text.encode()) != made_of:
        yield Diagnosis.warn(
            "bundle",
            "the constitution was changed after the bundle was made, and that is not enforced",
            "Run `ironcurtain compile`.",
        )
    signed = installation.bundle.parent / SIGNED_ARCHIVE
    if not signed.exists():
        return
    try:
        other = Bundle.read(signed).revision
    except IronCurtainError as error:
        yield from failed("bundle", error, "Sign anew: ironcurtain compile --locked --sign.")
        return
    if other != read.revision:
        yield Diagnosis.warn(
            "bundle",
            f"{SIGNED_ARCHIVE} beside it is of another revision, {other}",
            "Sign this one: ironcurtain compile --locked --sign.",
        )


def _made_of(read: Bundle) -> str | None:
    """Return the digest of the constitution that a bundle was made from; None for hand-written rules."""
    try:
        return provenance_of(read).constitution
    except BundleIntegrityError:
        return None


def _fix(error: IronCurtainError) -> str:
    one = error.errors[0] if isinstance(error, SeveralErrors) else error
    if isinstance(one, BundleSignatureError):
        return "Take the signed archive from whoever publishes it, or sign: ironcurtain compile --sign."
    if isinstance(one, NewerFormatError):
        return "Install the newest IronCurtain."
    if isinstance(one, BundleIntegrityError):
        return "Build it anew: ironcurtain compile --locked; or fetch it again."
    return ""
