"""Record batches of format 2 that lie in one place each, in every codec, and whole ones at the edge of what is lawful.

`LIES` says what is wrong in plain bytes; `batches` packs it. What a broker does with each is for `cases/broken_batches.py`.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

import cramjam
from crc32c import crc32c

from millstream.records.batch import HEADER
from millstream.records.compression import Codec, compress
from tests.oracle.broker.session import NOW_MS


def varint(number: int) -> bytes:
    """Zigzag, as records have it."""
    rest = (number << 1) ^ (number >> 63)
    found = bytearray()
    while rest >= 0x80:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


@dataclass(frozen=True)
class PlainRecord:
    """One record as its fields say; a field that is set beside its content is the lie."""

    offset_delta: int = 0
    timestamp_delta: int = 0
    key: bytes | None = b"key"
    value: bytes | None = b"value"
    headers: bytes = b""
    header_count: int = 0
    attributes: int = 0
    key_length: int | None = None
    value_length: int | None = None
    length_change: int = 0
    length: bytes | None = None
    """The whole length field."""

    def encode(self) -> bytes:
        body = bytes([self.attributes]) + varint(self.timestamp_delta) + varint(self.offset_delta)
        body += _sized(self.key, self.key_length) + _sized(self.value, self.value_length)
        body += varint(self.header_count) + self.headers
        length = varint(len(body) + self.length_change) if self.length is None else self.length
        return length + body


def _sized(content: bytes | None, length: int | None) -> bytes:
    claimed = -1 if content is None else len(content)
    return varint(claimed if length is None else length) + (content or b"")


def one_header(key: bytes | None = b"h", value: bytes | None = b"x", **lengths: int) -> bytes:
    return _sized(key, lengths.get("key_length")) + _sized(value, lengths.get("value_length"))


@dataclass(frozen=True)
class Header:
    """What stands before the records. `record_count` and `last_offset_delta` are those of three records."""

    base_offset: int = 0
    leader_epoch: int = -1
    attributes: int = 0
    last_offset_delta: int = 2
    base_timestamp: int = NOW_MS
    max_timestamp: int = NOW_MS
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    record_count: int = 3


WHOLE = Header()


def assemble(header: Header, section: bytes, codec: Codec = Codec.NONE) -> bytes:
    """`section` stands behind the header as it is; size and checksum are right."""
    batch = bytearray(
        HEADER.pack(
            header.base_offset, 49 + len(section), header.leader_epoch, 2, 0, header.attributes | codec,
            header.last_offset_delta, header.base_timestamp, header.max_timestamp, header.producer_id,
            header.producer_epoch, header.base_sequence, header.record_count,
        )
        + section
    )  # fmt: skip
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))
    return bytes(batch)


# --- lies of records

SECOND: dict[str, PlainRecord] = {
    "whole": PlainRecord(),
    "length one more": PlainRecord(length_change=1),
    "length one less": PlainRecord(length_change=-1),
    "length 0": PlainRecord(length=varint(0)),
    "length -1": PlainRecord(length=varint(-1)),
    "length 2^31-1": PlainRecord(length=varint(2**31 - 1)),
    "length -2^31": PlainRecord(length=varint(-(2**31))),
    "length in six bytes": PlainRecord(length=b"\x80\x80\x80\x80\x80\x00"),
    "length of ten bytes": PlainRecord(length=b"\xff" * 9 + b"\x01"),
    "length without end": PlainRecord(length=b"\xff" * 12),
    "length with a longer form": PlainRecord(length=b"\xa0\x00"),
    "attributes 1": PlainRecord(attributes=1),
    "attributes -1": PlainRecord(attributes=0xFF),
    "offset delta 0 again": PlainRecord(offset_delta=-1),
    "offset delta 2 twice": PlainRecord(offset_delta=1),
    "offset delta -1": PlainRecord(offset_delta=-2),
    "offset delta 2^31-1": PlainRecord(offset_delta=2**31 - 2),
    "offset delta -2^31": PlainRecord(offset_delta=-(2**31) - 1),
    "offset delta beyond 32 bits": PlainRecord(offset_delta=2**33),
    "timestamp delta -1": PlainRecord(timestamp_delta=-1),
    "timestamp delta 5": PlainRecord(timestamp_delta=5),
    "timestamp before 1970": PlainRecord(timestamp_delta=-NOW_MS - 2),
    "timestamp delta 2^62": PlainRecord(timestamp_delta=2**62),
    "timestamp beyond 64 bits": PlainRecord(timestamp_delta=2**63 - 1),
    "timestamp delta -2^63": PlainRecord(timestamp_delta=-(2**63)),
    "null key": PlainRecord(key=None),
    "null value": PlainRecord(value=None),
    "empty key and value": PlainRecord(key=b"", value=b""),
    "key length one more": PlainRecord(key_length=4),
    "key length one less": PlainRecord(key_length=2),
    "key length -2": PlainRecord(key=b"", key_length=-2),
    "key length 2^31-1": PlainRecord(key_length=2**31 - 1),
    "key length -2^31": PlainRecord(key_length=-(2**31)),
    "value length one more": PlainRecord(value_length=6),
    "value length one less": PlainRecord(value_length=4),
    "value length -2": PlainRecord(value=b"", value_length=-2),
    "value length 2^31-1": PlainRecord(value_length=2**31 - 1),
    "header": PlainRecord(headers=one_header(), header_count=1),
    "header of null": PlainRecord(headers=one_header(value=None), header_count=1),
    "header count -1": PlainRecord(header_count=-1),
    "header count 1 of none": PlainRecord(header_count=1),
    "header count 0 of one": PlainRecord(headers=one_header()),
    "header count 2 of one": PlainRecord(headers=one_header(), header_count=2),
    "header count 2^31-1": PlainRecord(headers=one_header(), header_count=2**31 - 1),
    "header key null": PlainRecord(headers=one_header(None), header_count=1),
    "header key length -2": PlainRecord(headers=one_header(b"", key_length=-2), header_count=1),
    "header key length one more": PlainRecord(headers=one_header(key_length=2), header_count=1),
    "header key length one less": PlainRecord(
        headers=one_header(b"hh", key_length=1), header_count=1
    ),
    "header key length 2^31-1": PlainRecord(
        headers=one_header(key_length=2**31 - 1), header_count=1
    ),
    "header key empty": PlainRecord(headers=one_header(b""), header_count=1),
    "header key not UTF-8": PlainRecord(headers=one_header(b"\xff\xfe"), header_count=1),
    "header value length -2": PlainRecord(
        headers=one_header(value=b"", value_length=-2), header_count=1
    ),
    "header value length one more": PlainRecord(headers=one_header(value_length=2), header_count=1),
    "header value length one less": PlainRecord(headers=one_header(value_length=0), header_count=1),
    "header value length 2^31-1": PlainRecord(
        headers=one_header(value_length=2**31 - 1), header_count=1
    ),
    "bytes at the end of the record": PlainRecord(headers=b"\x00\x00"),
}
"""The second of three records. Its offset delta is counted from the right one."""


def three(second: PlainRecord) -> bytes:
    records = [
        PlainRecord(),
        replace(second, offset_delta=second.offset_delta + 1),
        PlainRecord(offset_delta=2),
    ]
    return b"".join(record.encode() for record in records)


PLAIN = three(PlainRecord())

SECTIONS: dict[str, tuple[Header, bytes]] = {
    "bytes behind the last record": (WHOLE, PLAIN + b"\x00\x00\x00"),
    "a fourth record": (WHOLE, PLAIN + PlainRecord(offset_delta=3).encode()),
    "last record cut": (WHOLE, PLAIN[:-2]),
    "last record missing": (WHOLE, PLAIN[: len(PLAIN) // 3 * 2]),
    "count one more": (Header(record_count=4, last_offset_delta=3), PLAIN),
    "count one less": (Header(record_count=2, last_offset_delta=1), PLAIN),
    "count 2^31-1": (Header(record_count=2**31 - 1, last_offset_delta=2**31 - 2), PLAIN),
    "no record": (WHOLE, b""),
    "no record, counted": (Header(record_count=0, last_offset_delta=-1), b""),
    "no record, one offset": (Header(record_count=0, last_offset_delta=0), b""),
    "zeros": (WHOLE, bytes(40)),
    "two null keys": (
        WHOLE,
        b"".join(
            PlainRecord(offset_delta=i, key=None if i else b"k").encode() for i in range(3)
        ),
    ),
}  # fmt: skip


def record_lies() -> Iterator[tuple[str, Header, bytes]]:
    for name, second in SECOND.items():
        yield name, WHOLE, three(second)
    for name, (header, section) in SECTIONS.items():
        yield name, header, section


# --- lies of headers

HEADERS: dict[str, Header] = {
    "base offset 7": Header(base_offset=7),
    "base offset -1": Header(base_offset=-1),
    "leader epoch 5": Header(leader_epoch=5),
    "log append time": Header(attributes=0x08),
    "transactional without producer": Header(attributes=0x10),
    "control batch": Header(attributes=0x20),
    "delete horizon": Header(attributes=0x40),
    "attribute 0x80": Header(attributes=0x80),
    "attribute 0x4000": Header(attributes=0x4000),
    "last offset delta 1": Header(last_offset_delta=1),
    "last offset delta 3": Header(last_offset_delta=3),
    "last offset delta -1": Header(last_offset_delta=-1),
    "last offset delta 2^31-1": Header(last_offset_delta=2**31 - 1),
    "record count 0": Header(record_count=0),
    "record count 2": Header(record_count=2),
    "record count 4": Header(record_count=4),
    "record count -1": Header(record_count=-1),
    "max timestamp too small": Header(max_timestamp=NOW_MS - 9),
    "max timestamp too large": Header(max_timestamp=NOW_MS + 9),
    "max timestamp in the future": Header(max_timestamp=2**62),
    "max timestamp -1": Header(max_timestamp=-1),
    "max timestamp -5": Header(max_timestamp=-5),
    "no timestamps": Header(base_timestamp=-1, max_timestamp=-1),
    "base timestamp -5": Header(base_timestamp=-5),
    "base timestamp -5, max too": Header(base_timestamp=-5, max_timestamp=-5),
    "base timestamp in the future": Header(base_timestamp=2**62, max_timestamp=2**62),
    "base timestamp 2^63-1": Header(base_timestamp=2**63 - 1, max_timestamp=2**63 - 1),
    "epoch without producer": Header(producer_epoch=0, base_sequence=0),
    "sequence without producer": Header(base_sequence=7),
    "producer -2": Header(producer_id=-2, producer_epoch=0, base_sequence=0),
    "producer without sequence": Header(producer_id=90, producer_epoch=0),
    "producer with sequence -2": Header(producer_id=91, producer_epoch=0, base_sequence=-2),
    "producer without epoch": Header(producer_id=92, base_sequence=0),
    "producer with epoch -2": Header(producer_id=93, producer_epoch=-2, base_sequence=0),
    "producer that begins at 7": Header(producer_id=94, producer_epoch=0, base_sequence=7),
}


# --- lies of streams


@cache
def _long_section() -> bytes:
    """Three records whose values span several blocks of every codec."""
    values = [bytes((number * number) >> 3 & 0xFF for number in range(70_000)) for _ in range(3)]
    return b"".join(
        PlainRecord(offset_delta=i, value=value).encode() for i, value in enumerate(values)
    )


def _spoilt(data: bytes, at: int, change: int = 0xFF) -> bytes:
    return data[:at] + bytes([data[at] ^ change]) + data[at + 1 :]


Mutation = Callable[[bytes], bytes]
EVERY_STREAM: dict[str, Mutation] = {
    "whole": lambda data: data,
    "uncompressed": lambda _: PLAIN,
    "zeros": lambda _: bytes(64),
    "letters": lambda _: b"no compressed stream at all, only letters",
    "one byte": lambda data: data[:1],
    "cut at the half": lambda data: data[: len(data) // 2],
    "last byte missing": lambda data: data[:-1],
    "five bytes missing": lambda data: data[:-5],
    "bytes behind": lambda data: data + b"\x00\x00\x00\x00",
    "letters behind": lambda data: data + b"letters",
    "first byte changed": lambda data: _spoilt(data, 0),
    "a byte in the middle changed": lambda data: _spoilt(data, len(data) // 2),
    "twice": lambda data: data + data,
}


def _gzip_with(**changes: int) -> bytes:
    data = bytearray(gzip.compress(PLAIN, mtime=0))
    if "crc" in changes:
        data[-8] ^= changes["crc"]
    if "size" in changes:
        data[-4] ^= changes["size"]
    if "flags" in changes:
        data[3] = changes["flags"]
    return bytes(data)


def _lz4(data: bytes, flags: int = 0x60, block: int = 0x40, *, end: bytes = bytes(4)) -> bytes:
    descriptor = bytes([flags, block])
    check = bytes([_xxh32(descriptor) >> 8 & 0xFF])
    packed = bytes(cramjam.lz4.compress_block(data, store_size=False))
    return b"\x04\x22\x4d\x18" + descriptor + check + struct.pack("<I", len(packed)) + packed + end


def _xxh32(data: bytes) -> int:
    """Of less than four bytes, seed 0: what an lz4 descriptor needs."""
    mask = 0xFFFFFFFF
    found = (374761393 + len(data)) & mask
    for byte in data:
        found = (found + byte * 374761393) & mask
        found = ((found << 11 | found >> 21) & mask) * 2654435761 & mask
    found = (found ^ found >> 15) * 2246822519 & mask
    found = (found ^ found >> 13) * 3266489917 & mask
    return found ^ found >> 16


def _xerial(
    *blocks: bytes, header: bytes = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
) -> bytes:
    return header + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


def _snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


@cache
def own_streams(codec: Codec) -> dict[str, bytes]:
    """What can be wrong, or unusual, in one codec alone. The original is always PLAIN unless the name says otherwise."""
    match codec:
        case Codec.GZIP:
            return {
                "wrong checksum": _gzip_with(crc=1),
                "wrong size": _gzip_with(size=1),
                "reserved flags": _gzip_with(flags=0xE0),
                "two members": gzip.compress(PLAIN[:20]) + gzip.compress(PLAIN[20:]),
                "an empty member behind": gzip.compress(PLAIN) + gzip.compress(b""),
                "zlib framing": zlib.compress(PLAIN),
                "with a file name": gzip.compress(PLAIN)[:3] + b"\x08" + gzip.compress(PLAIN)[4:10]
                + b"name\x00" + gzip.compress(PLAIN)[10:],
            }  # fmt: skip
        case Codec.SNAPPY:
            return {
                "raw, without framing": _snappy(PLAIN),
                "two blocks": _xerial(_snappy(PLAIN[:20]), _snappy(PLAIN[20:])),
                "an empty block behind": _xerial(_snappy(PLAIN), _snappy(b"")),
                "a block of no bytes behind": _xerial(_snappy(PLAIN), b""),
                "version 2": _xerial(
                    _snappy(PLAIN), header=b"\x82SNAPPY\x00\x00\x00\x00\x02\x00\x00\x00\x01"
                ),
                "compatible with version 2": _xerial(
                    _snappy(PLAIN), header=b"\x82SNAPPY\x00\x00\x00\x00\x02\x00\x00\x00\x02"
                ),
                "version 0": _xerial(_snappy(PLAIN), header=b"\x82SNAPPY\x00" + bytes(8)),
                "block size one more": _xerial()
                + struct.pack(">i", len(_snappy(PLAIN)) + 1)
                + _snappy(PLAIN),
                "block size one less": _xerial()
                + struct.pack(">i", len(_snappy(PLAIN)) - 1)
                + _snappy(PLAIN),
                "block size -1": _xerial() + b"\xff\xff\xff\xff" + _snappy(PLAIN),
                "header alone": _xerial(),
                "header twice": _xerial(_snappy(PLAIN[:20])) + _xerial(_snappy(PLAIN[20:])),
                "block that claims more": _xerial(b"\xff\x7f" + _snappy(PLAIN)[1:]),
                "one block of 210 KB": _xerial(_snappy(_long_section())),
            }
        case Codec.LZ4:
            return {
                "linked blocks": bytes(cramjam.lz4.compress(_long_section())),
                "linked flag, one block": _lz4(PLAIN, 0x40),
                "no end mark": _lz4(PLAIN, end=b""),
                "content checksum": _lz4(PLAIN, 0x64, end=bytes.fromhex("00000000 ac3ad835")),
                "wrong content checksum": _lz4(PLAIN, 0x64, end=bytes.fromhex("00000000 ac3ad836")),
                "content checksum missing": _lz4(PLAIN, 0x64),
                "version 0": _lz4(PLAIN, 0x20),
                "reserved flag": _lz4(PLAIN, 0x62),
                "block size 1": _lz4(PLAIN, 0x60, 0x10),
                "reserved block bits": _lz4(PLAIN, 0x60, 0x41),
                "wrong header checksum": _spoilt(_lz4(PLAIN), 6),
                "blocks of 4 MB": _lz4(PLAIN, 0x60, 0x70),
                "dictionary flag": _lz4(PLAIN, 0x61),
                "skippable frame in front": b"\x50\x2a\x4d\x18\x02\x00\x00\x00ab" + _lz4(PLAIN),
            }
        case Codec.ZSTD:
            plain = bytes(cramjam.zstd.compress(PLAIN, level=3))
            return {
                "two frames": bytes(cramjam.zstd.compress(PLAIN[:20], level=3))
                + bytes(cramjam.zstd.compress(PLAIN[20:], level=3)),
                "skippable frame in front": b"\x50\x2a\x4d\x18\x02\x00\x00\x00ab" + plain,
                "skippable frame behind": plain + b"\x50\x2a\x4d\x18\x02\x00\x00\x00ab",
                "window of 2 TB": b"\x28\xb5\x2f\xfd\x00\xf8" + b"\x01\x00\x00",
                "stored": b"\x28\xb5\x2f\xfd\x00\x58"
                + (len(PLAIN) << 3 | 1).to_bytes(3, "little")
                + PLAIN,
                "last block missing": b"\x28\xb5\x2f\xfd\x00\x58"
                + (len(PLAIN) << 3).to_bytes(3, "little")
                + PLAIN,
                "reserved block type": b"\x28\xb5\x2f\xfd\x00\x58"
                + (len(PLAIN) << 3 | 7).to_bytes(3, "little")
                + PLAIN,
            }
        case Codec.NONE:
            return {}


def stream_lies(codec: Codec) -> Iterator[tuple[str, bytes]]:
    for name, mutation in EVERY_STREAM.items():
        yield name, mutation(compress(codec, PLAIN))
    for name, mutation in EVERY_STREAM.items():
        yield f"long, {name}", mutation(compress(codec, _long_section()))
    yield from own_streams(codec).items()


def record_batches(codec: Codec) -> Iterator[tuple[str, bytes]]:
    """Lies of records, in a codec."""
    for name, header, section in record_lies():
        yield name, assemble(header, compress(codec, section), codec)
    if codec is not Codec.NONE:
        yield "no byte at all", assemble(WHOLE, b"", codec)


def header_batches(codec: Codec) -> Iterator[tuple[str, bytes]]:
    for name, header in HEADERS.items():
        yield name, assemble(header, compress(codec, PLAIN), codec)


def stream_batches(codec: Codec) -> Iterator[tuple[str, bytes]]:
    for name, stream in stream_lies(codec):
        yield name, assemble(WHOLE, stream, codec)


# --- formats before batches


def old_message(
    magic: int, *, attributes: int = 0, value: bytes = b"value", offset: int = 0
) -> bytes:
    """A message of format 0 or 1, which stands where a batch should."""
    body = bytes([magic, attributes]) + (struct.pack(">q", NOW_MS) if magic else b"")
    body += struct.pack(">i", 3) + b"key" + struct.pack(">i", len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(message)) + message


def old_batches() -> Iterator[tuple[str, bytes]]:
    for magic in (0, 1):
        inner = old_message(magic) + old_message(magic, offset=1)
        yield f"format {magic}", old_message(magic, value=b"v" * 80)
        yield f"format {magic}, short", old_message(magic)
        yield f"format {magic}, two messages", inner * 2
        for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            packed = compress(codec, inner)
            yield (
                f"format {magic}, {codec.name.lower()}",
                old_message(magic, attributes=int(codec), value=packed),
            )
        yield f"format {magic}, wrong checksum", _spoilt(old_message(magic, value=b"v" * 80), 12)
    for magic in (3, 127, 255):
        whole = bytearray(assemble(WHOLE, PLAIN))
        whole[16] = magic
        yield f"magic {magic}", bytes(whole)
