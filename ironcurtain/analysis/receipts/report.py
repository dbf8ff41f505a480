"""What a receipt holds, and what it says that it cannot show."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from ironcurtain.enforcement.audit.record_types import Head
from ironcurtain.system.files import atomic_write, unwritten
from ironcurtain.system.frozen import Digest, Frozen, JsonValue
from ironcurtain.system.text import counted, visible


class Sentence(Frozen):
    """A clause of the constitution, in the words that the bundle has for it."""

    clause: str
    text: str


class ReceiptBundle(Frozen):
    """The bundle that decided.

    Attributes:
        digest: Of the published archive.
        signatures: What `.signatures.json` of the archive holds; nothing in an unsigned one.
    """

    digest: Digest
    revision: str
    signatures: tuple[str, ...] = ()


class ReceiptRecord(Frozen):
    """One line of the log.

    Attributes:
        line: Its number over all segments, from 1.
        kind: `decided` (the policy's answer is in it: OPA gives it again), `refused` (a call that was refused
            before or after the policy, or without an answer of it: OPA decides nothing again), or `other`
            (results and events, so that a period has no gap).
        record: The record as it was sealed (`ironcurtain schema audit`).
        input: What OPA was asked, with what the record holds in the place of values.
        sentence: The sentence that decided.
    """

    line: int
    kind: Literal["decided", "refused", "other"]
    record: dict[str, JsonValue]
    input: dict[str, JsonValue] | None = None
    sentence: Sentence | None = None


class ReceiptChain(Frozen):
    """The proof of position: from one seal to the one that a head vouches for.

    A line's seal is the SHA-256 over the seal before it and the digest of its record.

    Attributes:
        first: The number of the first line.
        before: The seal of the line before it.
        digests: The digests of the records of this and all following lines, up to the head's.
        head: The head or the witness's entry that ends the chain. It proves something to those who know it
            from elsewhere.
    """

    first: int
    before: Digest
    digests: tuple[Digest, ...]
    head: Head


class Receipt(Frozen):
    """What `ironcurtain audit receipt` writes.

    Attributes:
        complete: Whether no line between the first and the last record is left out.
        not_shown: What the file does not show, in plain words.
    """

    format: Literal["ironcurtain/receipt/v1"] = "ironcurtain/receipt/v1"
    session: str
    bundle: ReceiptBundle
    records: tuple[ReceiptRecord, ...]
    complete: bool
    chain: ReceiptChain
    not_shown: tuple[str, ...]


def write_receipt(receipt: Receipt, path: Path) -> None:
    """Write a receipt, for its owner alone to read; numbers stand in it as they do in the log.

    Raises:
        PublishError: If it cannot be written.
    """
    text = json.dumps(receipt.model_dump(mode="json"), ensure_ascii=False, indent=1)
    try:
        atomic_write(path, text.encode() + b"\n", mode=0o600)
    except OSError as error:
        raise unwritten("the receipt", path, error) from error


def receipt_lines(receipt: Receipt, file: str) -> Iterator[str]:
    """Yield what was written, and what it does not show."""
    kinds = Counter(each.kind for each in receipt.records)
    shown = ", ".join(f"{number:,} {kind}" for kind, number in sorted(kinds.items()))
    whole = "complete" if receipt.complete else "with gaps"
    end = f"line {receipt.chain.head.count:,} of {visible(receipt.session)}"
    yield f"{visible(file)}: {counted(len(receipt.records), 'record')} ({shown}), {whole}, proved up to {end}"
    yield f"bundle: {receipt.bundle.digest}, {'signed' if receipt.bundle.signatures else 'unsigned'}"
    yield "not shown:"
    yield from (f"  {words}" for words in receipt.not_shown)
