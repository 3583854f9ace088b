from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from millstream.errors import CorruptMessage, InvalidRecord, InvalidTimestamp, MessageTooLarge
from millstream.records.arrow import SCHEMA, SCHEMA_WITH_HEADERS, ReadOptions, from_arrow, to_arrow
from millstream.records.batch import read_header, validate_batch, validate_produced_batch
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.compression import Codec
from millstream.records.control import ControlType, build_control_batch
from millstream.records.record import Record, iterate_records
from tests.patience import LONG_ENOUGH_S

pytestmark = pytest.mark.usefixtures("twin")

HEADERS = ReadOptions(headers=True)


def five(base_offset: int, **options: object) -> bytearray:
    records = [
        Record(
            timestamp=100 + i, key=b"k%d" % i if i % 2 else None, value=None if i == 4 else b"v" * i
        )
        for i in range(5)
    ]
    return build_batch(records, BatchOptions(base_offset=base_offset, **options))  # type: ignore[arg-type]  # reason: fields by name


def records_in(batches: list[bytearray]) -> list[Record]:
    return [record for batch in batches for record in iterate_records(read_header(batch), batch)]


@pytest.mark.parametrize("codec", list(Codec))
def test_columns_hold_the_records(codec: Codec) -> None:
    table = to_arrow(five(10, codec=codec))
    table.validate(full=True)
    assert table.schema == SCHEMA
    assert table.to_pydict() == {
        "key": [None, b"k1", None, b"k3", None],
        "value": [b"", b"v", b"vv", b"vvv", None],
        "offset": [10, 11, 12, 13, 14],
        "timestamp": [100, 101, 102, 103, 104],
    }


def test_no_bytes_give_no_rows() -> None:
    assert to_arrow(b"").schema == SCHEMA
    assert to_arrow(b"", 0, HEADERS).schema == SCHEMA_WITH_HEADERS
    assert to_arrow(b"", 0, HEADERS).num_rows == 0


def test_records_below_the_start_offset_are_left_out() -> None:
    """A fetch at an offset inside a batch returns the whole batch."""
    log = five(0) + five(5) + five(10)
    assert to_arrow(log, 8).column("offset").to_pylist() == [8, 9, 10, 11, 12, 13, 14]
    assert to_arrow(log, 15).num_rows == 0


def test_control_batches_and_an_unfinished_batch_are_left_out() -> None:
    control = build_control_batch(
        [(ControlType.LEADER_CHANGE, b"")], 0, BatchOptions(base_offset=5)
    )
    log = five(0) + control + five(6) + five(11)[:-1]
    assert to_arrow(log).column("offset").to_pylist() == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]


def test_filter_sees_every_batch_in_order_and_decides() -> None:
    seen = []

    def accept(header: object, view: memoryview) -> bool:
        seen.append(read_header(view).base_offset)
        return seen[-1] != 5

    table = to_arrow(five(0) + five(5) + five(10), 0, ReadOptions(accept=accept))
    assert seen == [0, 5, 10]
    assert table.column("offset").to_pylist() == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]


def test_headers_are_a_list_per_record() -> None:
    headers = [[], [("a", None), ("b", b"x")], [("a", b"")]]
    batch = build_batch([Record(timestamp=0, headers=h) for h in headers])
    column = to_arrow(batch, 1, HEADERS).column("headers")
    column.validate(full=True)
    assert [[(h["key"], h["value"]) for h in row] for row in column.to_pylist()] == headers[1:]


def test_header_key_that_is_not_utf8_is_replaced() -> None:
    batch = bytearray(build_batch([Record(headers=[("?", b"x")])]))
    batch[batch.rindex(b"?")] = 0xFF
    table = to_arrow(batch, 0, ReadOptions(headers=True, check_crcs=False))
    assert table.column("headers").to_pylist() == [[{"key": "\ufffd", "value": b"x"}]]


def test_log_append_time_is_the_timestamp_of_all() -> None:
    assert to_arrow(five(0, log_append_time_ms=7)).column("timestamp").to_pylist() == [7] * 5


def test_checksums_are_checked_unless_told_otherwise() -> None:
    log = five(0)
    log[17] ^= 1
    with pytest.raises(CorruptMessage):
        to_arrow(log)
    assert to_arrow(log, 0, ReadOptions(check_crcs=False)).num_rows == 5


def test_decompression_is_limited_per_batch() -> None:
    batch = build_batch([Record(value=bytes(100_000))], BatchOptions(codec=Codec.ZSTD))
    with pytest.raises(MessageTooLarge):
        to_arrow(batch, 0, ReadOptions(decompressed_bytes_max=50_000))


@pytest.mark.parametrize("codec", list(Codec))
def test_written_batches_hold_the_rows(codec: Codec) -> None:
    headers = [[("a", None), ("b", b"x")], []]
    records = [
        Record(
            40 + i,
            1000 + 7 * i,
            None if i % 3 else b"key",
            None if i == 5 else b"v" * i * 9,
            headers[i % 2],
        )
        for i in range(100)
    ]
    log = build_batch(records, BatchOptions(base_offset=40))
    options = BatchOptions(
        codec=codec, base_offset=40, producer_id=1, producer_epoch=0, base_sequence=2**31 - 10
    )
    batches = from_arrow(to_arrow(log, 0, HEADERS), options, batch_bytes_max=4000)
    assert len(batches) > 10
    assert records_in(batches) == records
    sequence = 2**31 - 10
    for batch in batches:
        header = read_header(batch)
        validate_batch(header, batch)
        validate_produced_batch(header)
        assert (header.codec, header.base_sequence) == (codec, sequence % 2**31)
        sequence += header.record_count


def test_batches_are_filled_up_to_the_limit() -> None:
    table = pa.table({"value": [b"x" * 10] * 5})  # a record takes 17 bytes
    sizes = [len(batch) for batch in from_arrow(table, batch_bytes_max=61 + 2 * 17)]
    assert sizes == [95, 95, 78]


def test_record_beyond_the_limit_gets_its_own_batch() -> None:
    table = pa.table({"value": [b"a", b"x" * 1000, b"b"]})
    batches = from_arrow(table, batch_bytes_max=100)
    assert [read_header(batch).record_count for batch in batches] == [1, 1, 1]


def test_the_first_record_of_each_batch_has_the_headers_of_batches_before_its_own() -> None:
    own = pa.array(
        [[], [], [{"key": "b", "value": b"2"}]], SCHEMA_WITH_HEADERS.field("headers").type
    )
    table = pa.table({"value": [b"x" * 10] * 3, "headers": own})
    of_batches = [("a", b"1"), ("", None)]
    with_room_for_two = 61 + 2 * 17 + 6
    batches = from_arrow(table, batch_bytes_max=with_room_for_two, batch_headers=of_batches)
    assert [[r.headers for r in records_in([batch])] for batch in batches] == [
        [of_batches, []],
        [[*of_batches, ("b", b"2")]],
    ]
    without = table.drop_columns("headers")
    batches = from_arrow(without, batch_bytes_max=with_room_for_two, batch_headers=of_batches)
    assert [[r.headers for r in records_in([batch])] for batch in batches] == [
        [of_batches, []],
        [of_batches],
    ]


def test_whole_batches_come_from_their_first_records_on() -> None:
    records = [Record(value=b"%d" % number) for number in range(3)]
    log = build_batch(records, BatchOptions(base_offset=10)) + build_batch(
        records, BatchOptions(base_offset=13)
    )
    table = to_arrow(log, 14, ReadOptions(whole_batches=True))
    assert table.schema.names == [*SCHEMA.names, "baseOffset"]
    assert table.column("offset").to_pylist() == [13, 14, 15]
    assert table.column("baseOffset").to_pylist() == [13, 13, 13]
    table = to_arrow(log, 11, ReadOptions(whole_batches=True))
    assert table.column("offset").to_pylist() == list(range(10, 16))
    assert table.column("baseOffset").to_pylist() == [10, 10, 10, 13, 13, 13]
    assert to_arrow(log, 16, ReadOptions(whole_batches=True)).num_rows == 0


def test_slices_and_chunks_are_followed() -> None:
    values = [None if i % 4 == 0 else b"%d" % i for i in range(50)]
    table = pa.table({"key": values, "value": values, "timestamp": list(range(50))}).slice(3, 40)
    table = pa.concat_tables([table.slice(0, 13), table.slice(13)])
    assert [(r.key, r.value, r.timestamp) for r in records_in(from_arrow(table))] == [
        (values[i], values[i], i) for i in range(3, 43)
    ]
    assert [r.offset for r in records_in(from_arrow(table))] == list(range(40))


def test_sliced_headers_are_followed() -> None:
    headers = [[(f"k{i}", b"%d" % i)] * i for i in range(6)]
    batch = build_batch([Record(headers=h) for h in headers])
    table = to_arrow(batch, 0, HEADERS).slice(2, 3)
    assert [r.headers for r in records_in(from_arrow(table))] == headers[2:5]


def test_rows_without_a_list_have_no_headers() -> None:
    headers = pa.array(
        [None, [{"key": "a", "value": None}]], SCHEMA_WITH_HEADERS.field("headers").type
    )
    table = pa.table({"value": [b"x", b"y"], "headers": headers})
    assert [r.headers for r in records_in(from_arrow(table))] == [[], [("a", None)]]


@pytest.mark.parametrize(
    "type_", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string(), pa.binary(2)], ids=str
)
def test_every_kind_of_binary_is_read(type_: pa.DataType) -> None:
    column = pa.array([b"aa", None, b"bb"], pa.binary()).cast(type_)
    table = pa.table({"key": column, "value": column})
    assert [(r.key, r.value) for r in records_in(from_arrow(table))] == [
        (b"aa", b"aa"), (None, None), (b"bb", b"bb")
    ]  # fmt: skip


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_become_milliseconds(unit: str) -> None:
    column = (
        pa.array([5_000, None], pa.int64()).cast(pa.timestamp("ms")).cast(pa.timestamp(unit, "UTC"))
    )
    table = pa.table({"value": [b"a", b"b"], "timestamp": column})
    assert [r.timestamp for r in records_in(from_arrow(table, default_timestamp_ms=9))] == [
        5_000,
        9,
    ]


def test_default_timestamp_stands_where_there_is_no_column() -> None:
    assert (
        records_in(from_arrow(pa.table({"value": [b"a"]}), default_timestamp_ms=9))[0].timestamp
        == 9
    )


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"key": [b"a"]}, "column named value"),
        ({"value": [1.5]}, "column value is double"),
        ({"value": [b"a"], "timestamp": ["x"]}, "column timestamp is string"),
        ({"value": [b"a"], "headers": [3]}, "column headers is int64"),
        ({"value": [b"a"], "headers": [[{"key": None, "value": b"x"}]]}, "header"),
    ],
)
def test_columns_that_are_no_records_are_refused(columns: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidRecord, match=reason):
        from_arrow(pa.table(columns))


def test_time_before_1970_is_refused() -> None:
    with pytest.raises(InvalidTimestamp, match="-2"):
        from_arrow(pa.table({"value": [b"a"], "timestamp": [-2]}))


def test_no_rows_give_no_batches() -> None:
    assert from_arrow(to_arrow(b"")) == []


def test_the_batch_of_a_record_says_its_kind_of_timestamp_and_its_leader_epoch() -> None:
    log = b"".join(
        [five(0), five(5, log_append_time_ms=7, leader_epoch=3), five(10, leader_epoch=4)]
    )
    table = to_arrow(log, 3, ReadOptions(batch_columns=True))
    assert table.schema.names == [
        "key",
        "value",
        "offset",
        "timestamp",
        "timestampType",
        "leaderEpoch",
    ]
    assert table.column("timestampType").to_pylist() == [0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    assert table.column("leaderEpoch").to_pylist() == [None] * 2 + [3] * 5 + [4] * 5
    assert to_arrow(b"", 0, ReadOptions(batch_columns=True)).num_rows == 0


def test_rows_with_times_are_written_without_pandas() -> None:
    """A scalar would have pyarrow import it where it is installed: a third of a second for a command that copies."""
    program = """
import sys
from millstream.records.arrow import from_arrow, to_arrow
from millstream.records.builder import build_batch
from millstream.records.record import Record
rows = to_arrow(build_batch([Record(timestamp=7, value=b"v")]))
assert len(list(from_arrow(rows))) == 1
assert "pandas" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=LONG_ENOUGH_S, check=False
    )
    assert (done.returncode, b"AssertionError" in done.stderr) == (0, False)
