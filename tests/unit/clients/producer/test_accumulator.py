"""Records join batches up to their size, and every byte taken is given back."""

from __future__ import annotations

from millstream.clients.producer.core.accumulator import AccumulatorLimits, RecordAccumulator
from millstream.clients.producer.core.producer_batch import BatchOutcome, headers_size_bytes
from millstream.model import TopicPartition

PARTITION = TopicPartition("t", 0)


def accumulator(memory_bytes: int = 1_000) -> RecordAccumulator:
    return RecordAccumulator(AccumulatorLimits(200, memory_bytes, 1_000))


def add(target: RecordAccumulator, size: int, now_ms: int = 0) -> tuple[int, int, bool]:
    """(number of the batch, index in it, whether the sender should look)."""
    queue = target.queue(*PARTITION)
    record = (0, None, b"", None, None)
    index = target.append(queue, *record, size)
    if index < 0:
        target.start_batch(queue, now_ms)
        index = target.append(queue, *record, size)
    batch = queue.tail
    assert batch is not None
    return batch.order[0], index, target.concerns_sender(batch, index)


def test_records_share_a_batch_until_it_is_full() -> None:
    target = accumulator()
    assert [add(target, 50) for _ in range(4)] == [
        (0, 0, True),
        (0, 1, False),
        (1, 0, True),
        (1, 1, False),
    ]
    assert target.memory_used == 4 * 50 + 2 * 61


def test_the_sender_should_look_at_a_batch_that_is_new_and_at_one_that_is_full() -> None:
    target = accumulator()
    assert [add(target, size) for size in (50, 38, 51, 50)] == [
        (0, 0, True),
        (0, 1, False),
        (0, 2, True),  # 61 + 50 + 38 + 51 bytes: the last one fits just so
        (1, 0, True),
    ]


def test_a_record_larger_than_a_batch_has_one_for_itself() -> None:
    target = accumulator()
    assert [add(target, size)[0] for size in (10, 500, 10)] == [0, 1, 2]


def test_each_partition_has_one_queue_from_its_first_use_on() -> None:
    target = accumulator()
    assert target.queue("t", 0) is target.queue("t", 0)
    queues = [target.queue(topic, number) for topic, number in (("t", 0), ("t", 1), ("u", 0))]
    assert [queue.topic_partition for queue in queues] == [("t", 0), ("t", 1), ("u", 0)]
    add(target, 10)
    assert (target.queue_lengths("t"), target.queue_lengths("u")) == ({0: 1}, {})


def test_a_batch_that_was_sent_takes_no_more_records() -> None:
    target = accumulator()
    add(target, 10)
    queue = target.queue(*PARTITION)
    batch = queue.waiting[0]
    queue.take(batch)
    assert add(target, 10)[0] == 1
    queue.in_flight.remove(batch)
    queue.put_back(batch)
    assert [b.order for b in queue.waiting] == [(0,), (1,)]


def test_memory_is_bounded_but_a_giant_is_let_in_alone() -> None:
    target = accumulator(memory_bytes=300)
    assert target.has_room(5_000)
    add(target, 100)
    assert target.has_room(139)
    assert not target.has_room(140)


def test_settled_batches_give_their_memory_back() -> None:
    target = accumulator()
    add(target, 50)
    queue = target.queue(*PARTITION)
    batch = queue.waiting.popleft()
    batch.outcome = BatchOutcome(0)
    target.settle(batch)
    assert (target.memory_used, target.unsettled_count, target.busy_queues) == (0, 0, [])


def test_flush_waits_for_what_was_there_and_not_for_more() -> None:
    target = accumulator()
    add(target, 50)
    limit = target.next_order
    assert target.has_unsettled_before(limit)
    batch = target.queue(*PARTITION).waiting.popleft()
    add(target, 50)
    target.settle(batch)
    assert not target.has_unsettled_before(limit)


def test_the_size_of_headers_is_an_upper_bound() -> None:
    assert headers_size_bytes([("ä", b"1"), ("", None)]) == (10 + 4 + 1) + 10
