"""Is the policy whole, and is it the one that was meant?"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.doctor.subject import Subject, failed
from ironcurtain.errors import (
    BundleIntegrityError,
    BundleSignatureError,
    IronCurtainError,
    NewerFormatError,
    SeveralErrors,
)
from ironcurtain.model.doctor import Diagnosis
from ironcurtain.pipeline.rendered import check_rendered
from ironcurtain.text import visible

_UNVERIFIED = "Give --verify-key FILE here and to the proxy (docs/signing.md)."


def bundle(subject: Subject) -> Iterator[Diagnosis]:
    """Look at the bundle: there, intact, signed where a key is known, and its Rego what its rules say."""
    if not subject.bundle.exists():
        yield Diagnosis(
            name="bundle",
            status="fail",
            what=f"there is no bundle at {visible(str(subject.bundle))}",
            fix="Run `ironcurtain compile`, or name one with --bundle.",
        )
        return
    try:
        trust = Trust.of(verify_key=str(subject.verify_key) if subject.verify_key else None)
        read = open_bundle(subject.bundle, trust)
    except IronCurtainError as error:
        yield from failed("bundle", error, _fix(error))
        return
    what = f"revision {read.revision}, serial {read.serial}"
    if trust.key is None:
        yield Diagnosis(
            name="bundle", status="warn", what=f"{what}; no key says that it is yours", fix=_UNVERIFIED
        )
    else:
        yield Diagnosis(name="bundle", status="ok", what=f"{what}, signed with the key")
    try:
        check_rendered(read)
    except IronCurtainError as error:
        yield from failed("rules", error)
    else:
        yield Diagnosis(name="rules", status="ok", what="the bundle's Rego is what its rules say")


def _fix(error: IronCurtainError) -> str:
    one = error.errors[0] if isinstance(error, SeveralErrors) else error
    if isinstance(one, BundleSignatureError):
        return "Take the signed archive from whoever publishes it, or sign: ironcurtain compile --sign."
    if isinstance(one, NewerFormatError):
        return "Install the newest IronCurtain."
    if isinstance(one, BundleIntegrityError):
        return "Build it anew: ironcurtain compile --locked; or fetch it again."
    return ""
