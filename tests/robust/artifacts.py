"""The bytes of entries of the cache (KWA1): taken apart, changed, and put together under a right checksum.

Checksums are XXH3-128, which Python does not have: a forged entry gets its checksum from the core.
"""

from __future__ import annotations

import struct

HEADER = 32  # magic, version, size, checksum; the number of sections follows


def sections(entry: bytes) -> list[tuple[int, bytes]]:
    """Tags and bytes of an entry's sections."""
    (count,) = struct.unpack_from("<I", entry, HEADER)
    at, out = HEADER + 4, []
    for _ in range(count):
        tag, size = struct.unpack_from("<II", entry, at)
        out.append((tag, entry[at + 8 : at + 8 + size]))
        at += 8 + size
    return out


def body(parts: list[tuple[int, bytes]]) -> bytes:
    """What the checksum is of."""
    joined = b"".join(struct.pack("<II", tag, len(data)) + data for tag, data in parts)
    return struct.pack("<I", len(parts)) + joined


def entry(of: bytes, like: bytes) -> bytes:
    """An entry with this body, in the version of another one."""
    from kernelwright import _core_testing

    return like[:8] + struct.pack("<Q", HEADER + len(of)) + _core_testing.checksum(of) + of
