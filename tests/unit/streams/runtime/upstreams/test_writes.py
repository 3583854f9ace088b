"""What others have not read of what a task has written."""

from __future__ import annotations

from millstream.model import TopicPartition
from millstream.streams.kernel.task.upstreams import AT_ITS_END, NOT_BEGUN
from millstream.streams.runtime.upstreams.progress import FollowedWrites

R0, R1 = TopicPartition("r", 0), TopicPartition("r", 1)


def test_what_is_not_read_begins_with_the_first_write_that_reaches_behind_it() -> None:
    writes = FollowedWrites()
    writes.note({R0: 7}, NOT_BEGUN)
    writes.note({R0: 10, R1: 2}, 50)
    writes.note({R0: 14}, 60)
    found = [writes.first_unread(R0, read_to) for read_to in (6, 7, 9, 10, 13, 14, 15)]
    assert found == [NOT_BEGUN, 50, 50, 60, 60, AT_ITS_END, AT_ITS_END]
    assert (writes.first_unread(R1, 1), writes.first_unread(R1, 2)) == (50, AT_ITS_END)
    assert writes.ends == {R0: 14, R1: 2}


def test_a_partition_that_was_never_written_to_has_nothing_to_read() -> None:
    assert FollowedWrites().first_unread(R0, 0) == AT_ITS_END


def test_of_many_writes_the_first_ones_are_taken_for_one() -> None:
    writes = FollowedWrites()
    for number in range(1, 101):
        writes.note({R0: number}, 1_000 + number)
    assert [writes.first_unread(R0, read_to) for read_to in (0, 50, 84)] == [1_001, 1_001, 1_001]
    assert [writes.first_unread(R0, read_to) for read_to in (85, 86, 99)] == [1_086, 1_087, 1_100]
