"""Broken bytes give a typed error or records, never anything else; both twins of the leaf agree on which."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from dataclasses import replace
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.errors import CorruptMessage, KafkaError, MillstreamError
from millstream.log.append_check import AppendOrigin, CheckedBatches, checked_batches
from millstream.metadata.topic_config import LogConfig
from millstream.records import record_check
from millstream.records import walker as interpreted
from millstream.records.arrow import ReadOptions, to_arrow
from millstream.records.batch import (
    BATCH_HEADER_BYTES,
    CHECKED_FROM,
    BatchHeader,
    iterate_batches,
    patch_crc,
    read_header,
    validate_batch,
)
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec, compress, decompress_view
from millstream.records.record import Record, iterate_records
from millstream.runtime import Instant

RECORDS = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(0, 2**45),
        key=st.none() | st.binary(max_size=200),
        value=st.none() | st.binary(max_size=200),
        headers=st.lists(
            st.tuples(st.text(max_size=9), st.none() | st.binary(max_size=9)), max_size=3
        ),
    ),
    min_size=1,
    max_size=8,
)
LARGE_BATCHES = LogConfig(max_message_bytes=2**30)
CODECS = st.sampled_from(list(Codec))
needs_compiled = pytest.mark.skipif(
    importlib.util.find_spec("millstream.records.walker_compiled") is None,
    reason="the compiled leaves were not built: no C compiler or no Cython at install time",
)


def some_batch(codec: Codec) -> bytearray:
    records = [
        Record(timestamp=100 + i, key=b"k", value=b"v" * 9, headers=[("h", None)]) for i in range(4)
    ]
    return build_batch(records, BatchOptions(codec=codec, base_offset=3))


@pytest.mark.parametrize("codec", list(Codec))
def test_every_change_of_one_byte_under_the_checksum_is_detected(codec: Codec) -> None:
    batch = some_batch(codec)
    for at in range(21, len(batch)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(batch)
            changed[at] ^= flip
            with pytest.raises(CorruptMessage, match="checksum"):
                validate_batch(read_header(changed), changed)


@pytest.mark.parametrize("codec", list(Codec))
def test_every_truncation_is_detected(codec: Codec) -> None:
    batch = some_batch(codec)
    for end in range(1, len(batch)):
        with pytest.raises(CorruptMessage):
            list(iterate_batches(batch[:end], strict=True))
        assert to_arrow(batch[:end]).num_rows == 0


@settings(deadline=None)
@given(CODECS, st.binary(max_size=300))
def test_garbage_is_decompressed_or_refused(codec: Codec, data: bytes) -> None:
    with contextlib.suppress(KafkaError):
        assert len(decompress_view(codec, data, 10_000)) <= 10_000


@settings(max_examples=200, deadline=None)
@given(RECORDS, CODECS, st.data())
def test_records_that_were_tampered_with_are_read_or_refused(
    records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    """Without the checksum, as somebody who can compute one would send them."""
    batch = build_batch(records, BatchOptions(codec=codec))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(8, len(batch) - 1))
        batch[at] = data.draw(st.integers(0, 255))
    options = ReadOptions(headers=True, check_crcs=False, decompressed_bytes_max=1 << 20)
    with contextlib.suppress(MillstreamError):
        table = to_arrow(batch, 0, options)
        table.validate(full=True)
    with contextlib.suppress(MillstreamError):
        for header, view in iterate_batches(batch):
            list(iterate_records(header, view, 1 << 20))


def walk(twin: ModuleType, section: bytes, header: BatchHeader, start_offset: int) -> object:
    """Everything that a walk and both gathers give, or the error with its words."""
    count = header.record_count
    offsets, timestamps = (memoryview(bytearray(8 * count)).cast("q") for _ in range(2))
    places = memoryview(bytearray(4 * twin.PLACE_COLUMNS * count)).cast("i")
    columns = twin.RecordColumns(offsets, timestamps, places)
    try:
        rows = columns.walk(section, header, start_offset)
    except MillstreamError as error:
        return type(error), str(error)
    buffers = [
        (bytearray(4 * (rows + 1)), bytearray(rows // 8 + 1), bytearray(size))
        for size in columns.totals()
    ]
    keys, values = (
        twin.BinaryColumn(memoryview(o).cast("i"), memoryview(v), memoryview(d)) for o, v, d in buffers
    )  # fmt: skip
    columns.gather(section, 0, rows, keys, values)
    count, *sizes = columns.header_totals()
    parts = [
        (bytearray(4 * (count + 1)), bytearray(count // 8 + 1), bytearray(size)) for size in sizes
    ]
    names, contents = (
        twin.BinaryColumn(memoryview(o).cast("i"), memoryview(v), memoryview(d)) for o, v, d in parts
    )  # fmt: skip
    lists = bytearray(4 * (rows + 1))
    columns.gather_headers(
        section, 0, rows, twin.HeadersColumn(memoryview(lists).cast("i"), names, contents)
    )
    counts = [column.counts() for column in (keys, values, names, contents)]
    filled = [
        places[column * len(offsets) : column * len(offsets) + rows].tolist() for column in range(6)
    ]
    return (
        offsets[:rows].tolist(),
        timestamps[:rows].tolist(),
        filled,
        buffers,
        parts,
        lists,
        counts,
    )


def compiled() -> ModuleType:
    return importlib.import_module("millstream.records.walker_compiled")


@needs_compiled
@settings(max_examples=200, deadline=None)
@given(RECORDS, st.data())
def test_twins_agree_on_records_and_on_what_is_wrong_with_them(
    records: list[Record], data: st.DataObject
) -> None:
    batch = build_batch(records, BatchOptions(base_offset=5))
    header = read_header(batch)
    section = bytearray(batch[BATCH_HEADER_BYTES:])
    for _ in range(data.draw(st.integers(0, 3))):
        section[data.draw(st.integers(0, len(section) - 1))] = data.draw(st.integers(0, 255))
    header.base_timestamp += data.draw(
        st.sampled_from([0, 2**63 - 1 - header.base_timestamp, -(2**63)])
    )
    start_offset = data.draw(st.integers(0, 14))
    found = walk(interpreted, bytes(section), header, start_offset)
    assert walk(compiled(), bytes(section), header, start_offset) == found


@needs_compiled
@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 11))
def test_twins_agree_on_garbage(section: bytes, count: int) -> None:
    header = BatchHeader(
        0, 61 + len(section), 0, 2, 0, 0, max(count - 1, 0), 0, 0, -1, -1, -1, count
    )
    assert walk(compiled(), section, header, 0) == walk(interpreted, section, header, 0)


# --- what is acknowledged can be read


def acknowledged(batch: bytearray) -> CheckedBatches | None:
    """As a leader would append it; None when it is refused."""
    now = Instant(2**45, 0)
    try:
        return checked_batches(memoryview(batch), LARGE_BATCHES, now, AppendOrigin.CLIENT)
    except KafkaError:
        return None


def assert_readable(checked: CheckedBatches) -> None:
    """The header and the records say the same, to both readers."""
    (header,), (view,) = checked.headers, checked.views
    stored = read_header(view)
    validate_batch(stored, view)
    assert replace(stored, crc=0) == replace(header, crc=0)
    records = list(iterate_records(stored, view))
    assert [record.offset for record in records] == list(range(header.last_offset + 1))
    assert header.max_timestamp == max(-1, *(record.timestamp for record in records))
    columns = to_arrow(view, options=ReadOptions(headers=True))
    assert columns.column("timestamp").to_pylist() == [record.timestamp for record in records]
    assert columns.column("value").to_pylist() == [record.value for record in records]


@settings(deadline=None)
@given(RECORDS, CODECS)
def test_a_batch_that_our_builder_makes_is_accepted_and_read(
    records: list[Record], codec: Codec
) -> None:
    checked = acknowledged(build_batch(records, BatchOptions(codec=codec)))
    assert checked is not None
    assert_readable(checked)


@settings(deadline=None, max_examples=400)
@given(RECORDS, CODECS, st.data())
def test_a_batch_with_changed_records_is_refused_or_can_be_read(
    records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    plain = build_batch(records)
    section = mutated(bytes(plain[BATCH_HEADER_BYTES:]), data)
    checked = acknowledged(repacked(plain, compress(codec, section), codec))
    if checked is not None:
        assert_readable(checked)


def test_attributes_that_mean_nothing_go_from_the_batch_and_from_what_is_known_of_it() -> None:
    """A producer's wrong largest timestamp has the attributes written anew."""
    batch = build_batch([Record(timestamp=5, value=b"v")])
    batch[21:23] = (0x100).to_bytes(2, "big")
    batch[35:43] = (77).to_bytes(8, "big")
    patch_crc(memoryview(batch))
    checked = acknowledged(batch)
    assert checked is not None
    assert checked.headers[0].attributes == 0
    assert_readable(checked)


@settings(deadline=None, max_examples=400)
@given(RECORDS, CODECS, st.data())
def test_a_batch_with_changed_bytes_is_refused_or_can_be_read(
    records: list[Record], codec: Codec, data: st.DataObject
) -> None:
    """Anywhere from the attributes on; the checksum is right again."""
    batch = build_batch(records, BatchOptions(codec=codec))
    changed = bytearray(batch[:CHECKED_FROM]) + mutated(bytes(batch[CHECKED_FROM:]), data)
    if len(changed) < BATCH_HEADER_BYTES:
        return
    changed[8:12] = (len(changed) - 12).to_bytes(4, "big")
    patch_crc(memoryview(changed))
    checked = acknowledged(changed)
    if checked is not None:
        assert_readable(checked)


@needs_compiled
@settings(deadline=None, max_examples=400)
@given(RECORDS, st.data())
def test_twins_of_the_check_agree_on_changed_records(
    records: list[Record], data: st.DataObject
) -> None:
    batch = build_batch(records)
    section = memoryview(mutated(bytes(batch[BATCH_HEADER_BYTES:]), data))
    base = data.draw(st.sampled_from([read_header(batch).base_timestamp, 0, 2**63 - 1, -(2**63)]))
    needs_keys = data.draw(st.booleans())
    compiled = importlib.import_module("millstream.records.record_check_compiled")
    verdicts = [
        walked(leaf.RecordCheck(
            section, len(records), base, earliest=0, latest=2**44, checks_times=True, needs_keys=needs_keys
        ))
        for leaf in (record_check, compiled)
    ]  # fmt: skip
    assert verdicts[0] == verdicts[1]
    searches = [searched(leaf, section, len(records), base) for leaf in (record_check, compiled)]
    assert searches[0] == searches[1]


def walked(check: record_check.RecordCheck) -> list[object]:
    """Each stop of the walk, and how it ends."""
    stops: list[object] = []
    found = -1
    while found != record_check.DONE:
        try:
            found = check.walk()
        except KafkaError as error:
            return [*stops, str(error)]
        stops.append((found, check.index(), check.timestamp(), check.max_timestamp()))
    return stops


def searched(leaf: ModuleType, section: memoryview, count: int, timestamp: int) -> object:
    try:
        return leaf.first_from(section, count, 1, timestamp)
    except KafkaError as error:
        return str(error)


def mutated(content: bytes, data: st.DataObject) -> bytes:
    """Up to three changes: a byte, a few bytes gone, a few bytes more."""
    changed = bytearray(content)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, max(0, len(changed) - 1)))
        cut = data.draw(st.integers(0, 2))
        changed[at : at + cut] = data.draw(st.binary(max_size=3))
    return bytes(changed)


def repacked(plain: bytearray, section: bytes, codec: Codec) -> bytearray:
    """Another section behind the same header, with size and checksum that are right."""
    batch = bytearray(plain[:BATCH_HEADER_BYTES]) + section
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[22] = codec
    patch_crc(memoryview(batch))
    return batch
