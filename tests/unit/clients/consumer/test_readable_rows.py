"""A fetched chunk as Arrow rows, up to what cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.clients.consumer.core.errors import CorruptBatch
from millstream.clients.consumer.core.fetched import FetchedChunk
from millstream.clients.core.arrow_batches import readable_rows
from millstream.model import TopicPartition
from tests.unit.clients.consumer.fetch_world import batch, broken, marker

T0 = TopicPartition("t", 0)


def rows(
    *batches: bytes,
    start: int = 0,
    aborted: Sequence[tuple[int, int]] = (),
    check_crcs: bool = True,
) -> tuple[list[bytes], CorruptBatch | None]:
    chunk = FetchedChunk.fetched(memoryview(b"".join(batches)), 0, list(aborted))
    found, error = readable_rows(chunk, T0, start, check_crcs=check_crcs)
    return found.column("value").to_pylist(), error


def test_a_chunk_that_is_whole_is_read_to_its_end() -> None:
    assert rows(batch(0, b"a", b"b"), batch(2, b"c")) == ([b"a", b"b", b"c"], None)


def test_rows_before_a_broken_batch_come_with_its_place() -> None:
    values, error = rows(batch(0, b"a"), broken(batch(1, b"x", b"y")), batch(3, b"c"))
    assert values == [b"a"]
    assert error is not None
    assert (error.topic_partition, error.offset, error.next_offset) == (T0, 1, 3)


def test_nothing_is_left_of_a_chunk_whose_rest_starts_with_a_broken_batch() -> None:
    values, error = rows(batch(0, b"a"), broken(batch(1, b"x")), start=1)
    assert values == []
    assert error is not None


def test_what_is_aborted_before_a_broken_batch_stays_hidden() -> None:
    values, error = rows(
        batch(0, b"aborted", producer_id=9),
        marker(1, 9),
        batch(2, b"kept", producer_id=9),
        broken(batch(3, b"x")),
        aborted=[(0, 9)],
    )
    assert values == [b"kept"]
    assert error is not None
    assert error.offset == 3
