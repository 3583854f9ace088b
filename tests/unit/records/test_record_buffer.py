"""Records that come one by one stand in their batch as those that come as columns, and the buffer grows as it must."""

from __future__ import annotations

import pytest

from millstream.records import builder

pytestmark = pytest.mark.usefixtures("twin")


def test_records_stand_as_the_format_says() -> None:
    records = builder.writer.RecordBuffer(2)
    records.append(1_000, b"k", b"v", [("h", b"1"), ("n", None)])
    records.append(1_064, None, None, None)
    records.append(999, b"", b"", [])
    assert records.take().hex(" ") == (
        "00 00"  # the caller's
        " 1e 00 00 00 02 6b 02 76 04 02 68 02 31 02 6e 01"
        " 0e 00 80 01 02 01 01 00"  # 64 ms later, the second one, nulls
        " 0c 00 01 04 00 00 00"  # 1 ms earlier, the third one, empty
    )


def test_a_batch_is_as_that_of_records_written_at_once() -> None:
    given = [(5 + n % 3, b"k" * (n % 4) or None, b"v" * n, [("h", b"x" * n)]) for n in range(300)]
    records = builder.writer.RecordBuffer(0)
    expected = b""
    for number, (time, key, value, headers) in enumerate(given):
        records.append(time, key, value, headers)
        expected += builder.writer.encode_record(time - 5, number, key, value, headers)
    assert records.take() == expected
    assert [records.timestamp(n) for n in range(300)] == [time for time, *_ in given]
    assert records.max_timestamp() == 7


def test_a_buffer_like_another_has_room_for_as_much_and_takes_more() -> None:
    before = builder.writer.RecordBuffer(61)
    for _ in range(100):
        before.append(7, None, b"x" * 100, None)
    first = before.take()
    after = builder.writer.RecordBuffer(61, before)
    for _ in range(150):
        after.append(7, None, b"x" * 100, None)
    assert after.take()[: len(first)] == first
    assert (before.timestamp(99), after.timestamp(149)) == (7, 7)


def test_a_record_that_cannot_be_written_leaves_the_others_as_they_were() -> None:
    records = builder.writer.RecordBuffer(0)
    records.append(5, None, b"a", None)
    with pytest.raises(UnicodeEncodeError):
        records.append(6, None, b"b", [("\ud800", b"")])
    records.append(5, None, b"c", None)
    assert records.take().hex(" ") == "0e 00 00 00 01 02 61 00 0e 00 00 02 01 02 63 00"
    assert records.max_timestamp() == 5


def test_records_are_taken_once_and_no_more_are_appended() -> None:
    records = builder.writer.RecordBuffer(0)
    records.append(5, None, b"a", None)
    records.take()
    with pytest.raises(ValueError, match="can be taken once"):
        records.take()
    with pytest.raises(ValueError, match="are taken"):
        records.append(6, None, b"b", None)
    with pytest.raises(IndexError, match="record 1 of 1"):
        records.timestamp(1)


def test_the_size_of_a_column_is_that_of_its_rows_and_a_null_counts_as_given() -> None:
    size = builder.writer.column_size
    assert (size([], -1), size([b"tea", b"", b"milk"], -1)) == (0, 7)
    assert (size([None, b"tea", None], -1), size([None, b"tea", None], 0)) == (1, 3)


def test_the_size_of_a_column_asks_nothing_but_lengths() -> None:
    """What a serde has given is told to be no bytes by whoever writes it."""
    assert builder.writer.column_size(["tea", b"x", None], 0) == 4
