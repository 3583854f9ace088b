from __future__ import annotations

import pytest

from millstream.errors import InvalidRecord
from millstream.records.batch import read_header, validate_batch
from millstream.records.builder import BatchOptions
from millstream.records.control import (
    ControlType,
    build_control_batch,
    build_end_transaction_marker,
    read_control_type,
    read_coordinator_epoch,
)
from millstream.records.record import iterate_records


def test_marker_names_its_transaction() -> None:
    options = BatchOptions(base_offset=8, leader_epoch=2, producer_id=4, producer_epoch=1)
    batch = build_end_transaction_marker(ControlType.COMMIT, 6, 1000, options)
    header = read_header(batch)
    validate_batch(header, batch)
    assert (header.is_control, header.is_transactional, header.base_sequence) == (True, True, -1)
    [marker] = iterate_records(header, batch)
    assert (read_control_type(marker.key), read_coordinator_epoch(marker.value)) == (
        ControlType.COMMIT,
        6,
    )


def test_control_batch_may_hold_several_records() -> None:
    batch = build_control_batch(
        [(ControlType.KRAFT_VERSION, b"v"), (ControlType.KRAFT_VOTERS, b"w")], 5
    )
    records = list(iterate_records(read_header(batch), batch))
    assert [(read_control_type(r.key), r.value) for r in records] == [
        (ControlType.KRAFT_VERSION, b"v"),
        (ControlType.KRAFT_VOTERS, b"w"),
    ]


def test_type_of_a_later_release_is_unknown() -> None:
    assert read_control_type(b"\x00\x00\x00\x63") is ControlType.UNKNOWN


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x00"])
def test_key_that_is_none_is_refused(key: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        read_control_type(key)


@pytest.mark.parametrize("value", [None, b"\x00\x00\x00\x00\x00", b"\xff\xff\x00\x00\x00\x00"])
def test_marker_value_that_is_none_is_refused(value: bytes | None) -> None:
    with pytest.raises(InvalidRecord):
        read_coordinator_epoch(value)
