"""What comes first by time, and which of equals; what java.util.PriorityQueue gives was asked of Java 17."""

from __future__ import annotations

from millstream.streams.kernel.priority_queue import PriorityQueue


def ordered(*timestamps: int) -> PriorityQueue[str]:
    order = PriorityQueue[str]()
    for number, timestamp in enumerate(timestamps):
        order.offer(timestamp, chr(ord("a") + number))
    return order


def drained(order: PriorityQueue[str]) -> str:
    return "".join(order.poll() for _ in range(len(order)))


def test_the_smallest_timestamp_comes_first_and_equal_ones_as_java_has_them() -> None:
    order = ordered(3, 1, 2, 1, 3, 2, 1, 2)
    assert order.smallest == 1
    assert drained(order) == "bdgfhcae"
    assert order.smallest is None


def test_a_queue_that_is_offered_again_does_not_simply_go_to_the_end() -> None:
    order, taken = ordered(5, 5, 5, 5, 5), ""
    for _ in range(7):
        taken += order.poll()
        order.offer(5, taken[-1])
    assert taken + drained(order) == "aeaeaeaeadcb"
