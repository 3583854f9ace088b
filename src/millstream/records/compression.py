"""The five codecs of record batches: one `compress` and one bounded `decompress`.

Owns framing (xerial for snappy, independent blocks for lz4) and the limit on what a hostile stream may expand to.
Knows nothing of batches or records.

What Java can read decides what is written: its lz4 reader refuses frames with linked blocks, and its snappy reader
knows only xerial framing. Raw snappy and every other lz4 frame are read as well.
"""

from __future__ import annotations

from enum import IntEnum
from mmap import mmap
from struct import Struct
from typing import Final

import cramjam

from millstream.errors import CorruptMessage, MessageTooLarge, UnsupportedCompressionType

BytesLike = bytes | bytearray | memoryview

DECOMPRESSED_BYTES_MAX: Final = 100 * 1024 * 1024
"""Default limit of one decompressed records section."""


class Codec(IntEnum):
    """Bits 0-2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


LEVELS: Final = {Codec.GZIP: range(1, 10), Codec.LZ4: range(1, 18), Codec.ZSTD: range(-131072, 23)}
"""Levels of the codecs that have them (KIP-390)."""

GZIP_LEVEL: Final = 6
LZ4_LEVEL: Final = 9
"""Kafka's default. It means the fast compressor, as in Java, not level 9 of the thorough one."""
ZSTD_LEVEL: Final = 3

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = (
    XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
)  # version 1, readable since version 1
XERIAL_BLOCK_BYTES: Final = 32 * 1024

LZ4_FRAME_HEADER: Final = bytes.fromhex("04224d18 60 40 82")
"""Magic, version 1 with independent blocks and no checksums, 64 KiB blocks, checksum of these two bytes."""
_LZ4_FLAGS_AT: Final = 4
_LZ4_VERSION_AND_INDEPENDENCE: Final = 0xE0
LZ4_BLOCK_BYTES: Final = 64 * 1024
LZ4_BLOCK_IS_STORED: Final = 0x8000_0000

_U32_BE: Final = Struct(">I")
_U32_LE: Final = Struct("<I")

_FIRST_EXPANSION: Final = 8
_FIRST_BYTES_MIN: Final = 64 * 1024
_NEXT_EXPANSION: Final = 4
_LARGE_BYTES: Final = 4 * 1024 * 1024
_OVERFLOW_SENTENCE: Final = "failed to write whole buffer"
"""How cramjam says that the output buffer is full; a unit test watches the wording."""


def compress(codec: Codec, data: BytesLike, level: int | None = None) -> bytes:
    """Compresses `data`, with framing that every Kafka client reads.

    Raises UnsupportedCompressionType for a level that the codec does not have.
    """
    _check_level(codec, level)
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(data, level=GZIP_LEVEL if level is None else level))
        case Codec.SNAPPY:
            return _compress_xerial(memoryview(data))
        case Codec.LZ4:
            return _compress_lz4(memoryview(data), LZ4_LEVEL if level is None else level)
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=ZSTD_LEVEL if level is None else level))


def decompress(codec: Codec, data: BytesLike, limit: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """Returns the original of `data`. See `decompress_view`, which does not copy."""
    return bytes(decompress_view(codec, data, limit))


def decompress_view(
    codec: Codec, data: BytesLike, limit: int = DECOMPRESSED_BYTES_MAX
) -> memoryview:
    """Returns the original of `data`, of at most `limit` bytes.

    Raises MessageTooLarge when there would be more, having allocated no more than the limit, and CorruptMessage when
    the stream is broken, cut short or followed by other bytes.
    """
    view = memoryview(data)
    match codec:
        case Codec.NONE:
            if len(view) > limit:
                raise _too_large(codec, limit)
            return view
        case Codec.SNAPPY:
            return _decompress_snappy(view, limit)
        case Codec.GZIP | Codec.LZ4 | Codec.ZSTD:
            return _decompress_growing(codec, view, limit)


def check_framing(codec: Codec, view: memoryview) -> None:
    """Refuses framing that Java's readers refuse and ours do not: a producer may not write it.

    Raises CorruptMessage.
    """
    if codec is Codec.LZ4 and not (
        len(view) > _LZ4_FLAGS_AT
        and view[:_LZ4_FLAGS_AT] == LZ4_FRAME_HEADER[:_LZ4_FLAGS_AT]
        and view[_LZ4_FLAGS_AT] & _LZ4_VERSION_AND_INDEPENDENCE == LZ4_FRAME_HEADER[_LZ4_FLAGS_AT]
    ):
        raise _corrupt(codec, "it does not begin with a frame of version 1 with independent blocks")


def _check_level(codec: Codec, level: int | None) -> None:
    if level is None:
        return
    levels = LEVELS.get(codec)
    if levels is None:
        raise UnsupportedCompressionType(f"{codec.name.lower()} has no levels; leave the level out")
    if level not in levels:
        raise UnsupportedCompressionType(
            f"{codec.name.lower()} has levels {levels[0]} to {levels[-1]}, not {level}"
        )


def _compress_xerial(view: memoryview) -> bytes:
    parts = [XERIAL_HEADER]
    for at in range(0, len(view), XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[at : at + XERIAL_BLOCK_BYTES]))
        parts += (_U32_BE.pack(len(block)), block)
    return b"".join(parts)


def _compress_lz4(view: memoryview, level: int) -> bytes:
    """A frame whose blocks do not refer to each other."""
    parts = [LZ4_FRAME_HEADER]
    for at in range(0, len(view), LZ4_BLOCK_BYTES):
        original = view[at : at + LZ4_BLOCK_BYTES]
        if level != LZ4_LEVEL:
            parts.append(_thorough_lz4_block(original, level))
            continue
        block = bytes(cramjam.lz4.compress_block(original, store_size=False))
        if len(block) < len(original):
            parts += (_U32_LE.pack(len(block)), block)
        else:
            parts += (_U32_LE.pack(len(original) | LZ4_BLOCK_IS_STORED), bytes(original))
    parts.append(b"\x00\x00\x00\x00")  # end mark
    return b"".join(parts)


def _thorough_lz4_block(original: memoryview, level: int) -> bytes:
    """One block with its size. Only cramjam's frames know levels, so the block is taken out of a frame of its own."""
    frame = bytes(cramjam.lz4.compress(original, level=level))
    (size,) = _U32_LE.unpack_from(frame, len(LZ4_FRAME_HEADER))
    start = len(LZ4_FRAME_HEADER)
    return frame[start : start + _U32_LE.size + (size & ~LZ4_BLOCK_IS_STORED)]


def _decompress_growing(codec: Codec, view: memoryview, limit: int) -> memoryview:
    """Into a buffer that starts at a modest guess and grows while it turns out too small.

    What a stream says of its own size is not believed: the guess depends on the compressed size alone, so a lie costs
    nothing and a bomb costs at most the limit.
    """
    decompress_into = {
        Codec.GZIP: cramjam.gzip.decompress_into,
        Codec.LZ4: cramjam.lz4.decompress_into,
        Codec.ZSTD: cramjam.zstd.decompress_into,
    }[codec]
    capacity = min(max(len(view) * _FIRST_EXPANSION, _FIRST_BYTES_MIN), limit)
    while True:
        out = _room(capacity)
        try:
            written = decompress_into(view, out)
        except cramjam.DecompressionError as error:
            if _OVERFLOW_SENTENCE not in str(error):
                raise _corrupt(codec, str(error)) from error
        else:
            if isinstance(out, bytearray):
                del out[written:]
            return memoryview(out)[:written]
        if capacity == limit:
            raise _too_large(codec, limit)
        capacity = min(capacity * _NEXT_EXPANSION, limit)


def _room(size_bytes: int) -> bytearray | mmap:
    """Zeros to write into.

    Large ones come from the system, page by page when they are written: a bytearray of 100 MB is filled with zeros
    first, and the interpreter's lock is held for 50 ms.
    """
    return bytearray(size_bytes) if size_bytes < _LARGE_BYTES else mmap(-1, size_bytes)


def _decompress_snappy(view: memoryview, limit: int) -> memoryview:
    blocks = _xerial_blocks(view) if bytes(view[:8]) == XERIAL_MAGIC else [view]
    sizes = [_snappy_size(block) for block in blocks]
    total = sum(sizes)
    if total > limit:
        raise _too_large(Codec.SNAPPY, limit)
    out = memoryview(_room(total))
    at = 0
    for block, size in zip(blocks, sizes, strict=True):
        try:
            cramjam.snappy.decompress_raw_into(block, out[at : at + size])
        except cramjam.DecompressionError as error:
            raise _corrupt(Codec.SNAPPY, str(error)) from error
        at += size
    return out


def _xerial_blocks(view: memoryview) -> list[memoryview]:
    blocks = []
    at = len(XERIAL_HEADER)
    while at < len(view):
        start = at + _U32_BE.size
        if start > len(view):
            raise _corrupt(Codec.SNAPPY, "cut short inside the size of a block")
        (size,) = _U32_BE.unpack_from(view, at)
        if size > len(view) - start:
            raise _corrupt(
                Codec.SNAPPY, f"a block of {size} bytes where {len(view) - start} are left"
            )
        blocks.append(view[start : start + size])
        at = start + size
    return blocks


def _snappy_size(block: memoryview) -> int:
    """The size a raw block claims. Checked: snappy cannot expand more than 64 bytes per 3 bytes of input."""
    try:
        size = int(cramjam.snappy.decompress_raw_len(block))
    except cramjam.DecompressionError as error:
        raise _corrupt(Codec.SNAPPY, str(error)) from error
    if size > len(block) * 22:
        raise _corrupt(Codec.SNAPPY, f"claims {size} bytes, more than {len(block)} bytes can hold")
    return size


def _too_large(codec: Codec, limit: int) -> MessageTooLarge:
    return MessageTooLarge(
        f"the records expand to more than {limit} bytes ({codec.name.lower()}); "
        "send smaller batches or raise the limit on decompressed batches"
    )


def _corrupt(codec: Codec, reason: str) -> CorruptMessage:
    return CorruptMessage(f"the records cannot be decompressed ({codec.name.lower()}): {reason}")
