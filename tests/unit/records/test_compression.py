from __future__ import annotations

import os
import tracemalloc
import zlib
from collections.abc import Callable

import cramjam
import pytest

from millstream.errors import CorruptMessage, MessageTooLarge, UnsupportedCompressionType
from millstream.records.compression import Codec, compress, decompress, decompress_view

PACKED = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"to be or not to be " * 20_000  # several blocks of snappy and lz4
NOISE = os.urandom(200_000)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("data", [b"", b"a", TEXT, NOISE], ids=["empty", "one", "text", "noise"])
def test_what_was_compressed_comes_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), len(data)) == data


@pytest.mark.parametrize("codec", list(Codec))
def test_one_byte_more_than_the_limit_is_refused(codec: Codec) -> None:
    with pytest.raises(MessageTooLarge, match="more than 379999 bytes"):
        decompress(codec, compress(codec, TEXT), len(TEXT) - 1)


def gzip_bomb() -> bytes:
    """124 KiB that expand to 128 MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(1 << 24)) for _ in range(8)) + packer.flush()


def zstd_bomb() -> bytes:
    """32 KiB that expand to 1 GiB: three bytes of header and one byte stand for 128 KiB."""
    block = (128 * 1024 << 3 | 0b010).to_bytes(3, "little") + b"\x00"
    last = (128 * 1024 << 3 | 0b011).to_bytes(3, "little") + b"\x00"
    return bytes.fromhex("28b52ffd 00 58") + block * 8191 + last


def lz4_bomb() -> bytes:
    """132 KiB that expand to 32 MiB, in blocks of 4 MiB."""
    block = bytes(cramjam.lz4.compress_block(bytes(4 << 20), store_size=False))
    framed = len(block).to_bytes(4, "little") + block
    return bytes.fromhex("04224d18 60 70 73") + framed * 8 + bytes(4)


def snappy_bomb() -> bytes:
    """Blocks that claim 1 MiB and more together, each no more than it could hold."""
    block = b"\xff\xff\x03" + bytes(2979)  # 65,535 bytes from 2,982
    return compress(Codec.SNAPPY, b"") + (len(block).to_bytes(4, "big") + block) * 17


@pytest.mark.parametrize(
    ("codec", "bomb"),
    [
        (Codec.GZIP, gzip_bomb),
        (Codec.ZSTD, zstd_bomb),
        (Codec.LZ4, lz4_bomb),
        (Codec.SNAPPY, snappy_bomb),
    ],
)
def test_bomb_is_refused_without_its_memory(codec: Codec, bomb: Callable[[], bytes]) -> None:
    packed = bomb()
    tracemalloc.start()
    try:
        with pytest.raises(MessageTooLarge):
            decompress_view(codec, packed, 1 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 << 20


def test_snappy_that_claims_more_than_it_can_hold_is_corrupt_within_the_limit() -> None:
    """2 GiB from 104 bytes."""
    with pytest.raises(CorruptMessage, match="can hold"):
        decompress(Codec.SNAPPY, b"\x80\x80\x80\x08" + bytes(100), 1 << 30)


@pytest.mark.parametrize("codec", PACKED)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_stream_that_is_cut_short_is_corrupt(codec: Codec, share: float) -> None:
    packed = compress(codec, NOISE)
    cut = int(len(packed) * share) or (0 if codec is not Codec.SNAPPY else 5)
    with pytest.raises(CorruptMessage):
        decompress(codec, packed[:cut], 1 << 30)


@pytest.mark.parametrize("codec", PACKED)
def test_garbage_after_the_stream_is_corrupt(codec: Codec) -> None:
    with pytest.raises(CorruptMessage):
        decompress(codec, compress(codec, TEXT) + b"garbage that is no frame", 1 << 30)


def test_snappy_is_written_in_xerial_blocks_of_32_kib() -> None:
    packed = compress(Codec.SNAPPY, NOISE)
    assert packed[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    size = int.from_bytes(packed[16:20], "big")
    assert cramjam.snappy.decompress_raw_len(packed[20 : 20 + size]) == 32 * 1024


def test_raw_snappy_of_other_clients_is_read() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_lz4_is_written_in_independent_blocks() -> None:
    """Java refuses linked ones. FLG 0x60: version 1, independent; BD 0x40: 64 KiB."""
    assert compress(Codec.LZ4, TEXT)[:7] == bytes.fromhex("04224d18604082")


def test_lz4_frames_with_linked_blocks_and_checksums_are_read() -> None:
    frame = bytes(cramjam.lz4.compress(TEXT))
    assert frame[4] & 0x20 == 0
    assert decompress(Codec.LZ4, frame) == TEXT


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_levels_trade_size(codec: Codec) -> None:
    data = b"".join(b"%d:%d;" % (i * i, i % 97) for i in range(20_000))
    high = {Codec.GZIP: 9, Codec.LZ4: 17, Codec.ZSTD: 19}[codec]
    assert len(compress(codec, data, high)) < len(compress(codec, data, 1))
    assert decompress(codec, compress(codec, data, high)) == data


@pytest.mark.parametrize(
    ("codec", "level"),
    [(Codec.GZIP, 0), (Codec.GZIP, 10), (Codec.LZ4, 0), (Codec.LZ4, 18), (Codec.ZSTD, 23), (Codec.SNAPPY, 1)],
)  # fmt: skip
def test_level_that_the_codec_does_not_have_is_refused(codec: Codec, level: int) -> None:
    with pytest.raises(UnsupportedCompressionType, match="levels"):
        compress(codec, b"x", level)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_cramjam_still_says_how_it_runs_out_of_room(codec: Codec) -> None:
    """Growing the output relies on this wording."""
    module = {Codec.GZIP: cramjam.gzip, Codec.LZ4: cramjam.lz4, Codec.ZSTD: cramjam.zstd}[codec]
    with pytest.raises(cramjam.DecompressionError, match="failed to write whole buffer"):
        module.decompress_into(compress(codec, TEXT), bytearray(10))
