"""Which bundle may take the place of another one where bundles are fetched from."""

from __future__ import annotations

from ironcurtain.bundle.archive import Bundle
from ironcurtain.errors import BundleIntegrityError, NewerFormatError, PublishError


def replaces(archive: bytes, there: bytes | None, where: str) -> bool:
    """Tell whether an archive has to be written over what is there; False if it is there already.

    What is there is not trusted, and its signature may be of a retired key: it can only make us refuse.

    Args:
        archive: The new bundle, verified.
        there: The content that would be replaced; None if there is nothing.
        where: The place, for errors.

    Raises:
        PublishError: If what is there is newer, is another policy of the same serial number, or no bundle.
    """
    if there is None:
        return True
    if there == archive:
        return False
    new, old = Bundle.parse(archive, "the new bundle"), _existing(there, where)
    if old.serial > new.serial:
        raise PublishError(
            f"the bundle that is there has serial {old.serial}, this one only {new.serial}",
            where=where,
            hint="An older policy does not replace a newer one: compile it with a higher serial.",
        )
    if old.serial == new.serial and old.revision != new.revision:
        raise PublishError(
            f"another policy of serial {old.serial} is there, {old.revision}",
            where=where,
            hint="Raise the serial with each release: compile with --serial.",
        )
    return True


def _existing(content: bytes, where: str) -> Bundle:
    try:
        return Bundle.parse(content, where)
    except (BundleIntegrityError, NewerFormatError) as error:
        raise PublishError(
            f"what is there is no bundle that can be compared: {error.what}",
            where=where,
            hint="See who put it there; to publish over it, remove it first.",
        ) from error
