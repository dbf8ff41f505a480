"""Gzip that is the same bytes everywhere and never unpacks more than it is told to."""

from __future__ import annotations

import struct
import zlib

_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # no name, no time, unknown system
_LARGEST_BLOCK = 0xFFFF
_GZIP = zlib.MAX_WBITS | 16


def compress(data: bytes) -> bytes:
    """Return `data` as a gzip stream without name and time.

    The data are stored, not deflated: builds of zlib differ in the bytes that they produce, and a bundle
    has to have one digest on every machine.
    """
    starts = range(0, max(len(data), 1), _LARGEST_BLOCK)
    blocks = [_block(data[at : at + _LARGEST_BLOCK], last=at == starts[-1]) for at in starts]
    return b"".join([_HEADER, *blocks, struct.pack("<LL", zlib.crc32(data), len(data) & 0xFFFFFFFF)])


def decompress(data: bytes, *, max_bytes: int) -> bytes:
    """Return the content of exactly one complete gzip stream.

    Raises:
        ValueError: If it is truncated, is followed by something, or holds more than `max_bytes`.
        zlib.error: If it is corrupt.
    """
    unpacker = zlib.decompressobj(_GZIP)
    content = unpacker.decompress(data, max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"it unpacks to more than {max_bytes:,} bytes")
    if not unpacker.eof:
        raise ValueError("it ends too early")
    if unpacker.unused_data:
        raise ValueError("something follows its end")
    return content


def _block(data: bytes, *, last: bool) -> bytes:
    return struct.pack("<BHH", last, len(data), len(data) ^ 0xFFFF) + data
