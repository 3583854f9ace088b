from __future__ import annotations

from typing import Any

import pytest

from millstream.errors import CorruptMessage
from millstream.log.header_scan import scan_batches
from millstream.records.builder import BatchOptions, build_batch
from millstream.records.record import Record


class CountedFile:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.reads: list[int] = []

    def read_at(self, position: int, length: int) -> bytes:
        self.reads.append(length)
        return self.data[position : position + length]


@pytest.mark.parametrize(("window_bytes", "whole_reads"), [(1 << 20, 1), (1_000, 20), (0, 20)])
def test_as_much_is_read_at_once_as_the_window_holds_or_one_batch_needs(
    window_bytes: int, whole_reads: int
) -> None:
    batches = [
        bytes(build_batch([Record(value=b"v" * 900)], BatchOptions(base_offset=offset)))
        for offset in range(20)
    ]
    counted = CountedFile(b"".join(batches))
    file: Any = counted
    found = list(scan_batches(file, 0, len(counted.data), window_bytes))
    assert [bytes(view) for _, _, view in found] == batches
    header_reads = [length for length in counted.reads if length == 8192]
    assert len(counted.reads) - len(header_reads) - whole_reads in (0, 1)


def test_a_walk_that_must_reach_the_end_refuses_a_batch_that_does_not_fit() -> None:
    """Compaction would leave out what is behind it, and a reader would go on with the next segment."""
    first, second = (
        bytearray(build_batch([Record(value=b"v")], BatchOptions(base_offset=offset)))
        for offset in range(2)
    )
    second[8:12] = (1 << 20).to_bytes(4, "big")
    counted: Any = CountedFile(bytes(first + second))
    walk = scan_batches(counted, 0, len(counted.data))
    assert next(walk)[1].base_offset == 0
    with pytest.raises(
        CorruptMessage, match=f"the bytes from position {len(first)} on are no whole batch"
    ):
        next(walk)


def test_a_batch_that_does_not_follow_the_one_before_it_is_refused() -> None:
    batches = [
        bytes(build_batch([Record(value=b"v")], BatchOptions(base_offset=o))) for o in (7, 3)
    ]
    counted: Any = CountedFile(b"".join(batches))
    walk = scan_batches(counted, 0, len(counted.data))
    assert next(walk)[1].base_offset == 7
    with pytest.raises(CorruptMessage, match="does not follow the one before it"):
        next(walk)
