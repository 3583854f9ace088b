"""The bytes of a queue are those of the batches of which a record waits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.streams.application.task_executor import QueuedBytes


def test_a_batch_counts_until_its_last_record_is_taken() -> None:
    queued = QueuedBytes()
    assert queued.of(0) == 0
    queued.add(2, 100)
    queued.add(3, 5_000)
    assert queued.of(5) == 5_100
    assert queued.of(4) == 5_100
    assert queued.of(3) == 5_000
    queued.add(1, 7)
    assert queued.of(2) == 5_007
    assert queued.of(1) == 7
    assert queued.of(0) == 0


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 100), st.integers(0, 20))))
def test_it_is_what_adding_up_the_batches_from_the_end_gives(
    turns: list[tuple[int, int, int]],
) -> None:
    queued, batches, waiting = QueuedBytes(), list[tuple[int, int]](), 0
    for records, size_bytes, taken in turns:
        queued.add(records, size_bytes)
        batches.append((records, size_bytes))
        waiting = max(0, waiting + records - taken)
        left, expected = waiting, 0
        for count, size in reversed(batches):
            if left <= 0:
                break
            expected += size
            left -= count
        assert queued.of(waiting) == expected
