from __future__ import annotations

from millstream.records.arrow import ReadOptions, to_arrow
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.control import (
    AbortedTransactionFilter,
    ControlType,
    build_end_transaction_marker,
)
from millstream.records.record import Record


def data(offset: int, producer_id: int, value: bytes, *, transactional: bool = True) -> bytearray:
    options = BatchOptions(
        base_offset=offset, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=transactional
    )  # fmt: skip
    return build_batch([Record(timestamp=1, value=value)], options)


def marker(offset: int, producer_id: int, kind: ControlType) -> bytearray:
    options = BatchOptions(base_offset=offset, producer_id=producer_id, producer_epoch=0)
    return build_end_transaction_marker(kind, 0, 1, options)


def committed(log: bytes, aborted: list[tuple[int, int]]) -> list[bytes]:
    options = ReadOptions(accept=AbortedTransactionFilter(aborted))
    values: list[bytes] = to_arrow(log, 0, options).column("value").to_pylist()
    return values


def test_batches_of_an_aborted_transaction_are_left_out_until_its_marker() -> None:
    log = (
        data(0, 1, b"aborted") + data(1, 1, b"aborted too") + marker(2, 1, ControlType.ABORT)
        + data(3, 1, b"next") + marker(4, 1, ControlType.COMMIT)
    )  # fmt: skip
    assert committed(log, [(1, 0)]) == [b"next"]


def test_transactions_of_others_and_plain_batches_between_are_kept() -> None:
    log = (
        data(0, 1, b"aborted") + data(1, 2, b"other") + data(2, 3, b"plain", transactional=False)
        + marker(3, 2, ControlType.COMMIT) + marker(4, 1, ControlType.ABORT)
    )  # fmt: skip
    assert committed(log, [(1, 0)]) == [b"other", b"plain"]


def test_one_producer_may_abort_twice() -> None:
    log = (
        data(0, 1, b"a") + marker(1, 1, ControlType.ABORT)
        + data(2, 1, b"b") + marker(3, 1, ControlType.COMMIT)
        + data(4, 1, b"c") + marker(5, 1, ControlType.ABORT)
    )  # fmt: skip
    assert committed(log, [(1, 4), (1, 0)]) == [b"b"]
