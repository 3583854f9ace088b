from __future__ import annotations

from millstream.net.server.deadline_queue import DeadlineQueue


def test_what_waited_its_time_is_taken_oldest_first() -> None:
    queue: DeadlineQueue[str] = DeadlineQueue(100)
    queue.touch("a", 0)
    queue.touch("b", 50)
    queue.touch("c", 60)
    assert queue.next_deadline_ms() == 100
    assert queue.take_expired(99) == []
    assert queue.take_expired(150) == ["a", "b"]
    assert queue.next_deadline_ms() == 160


def test_touching_starts_the_wait_anew() -> None:
    queue: DeadlineQueue[str] = DeadlineQueue(100)
    queue.touch("a", 0)
    queue.touch("b", 10)
    queue.touch("a", 20)
    assert queue.take_expired(115) == ["b"]
    assert queue.take_expired(120) == ["a"]


def test_beginning_twice_keeps_the_first_start() -> None:
    queue: DeadlineQueue[str] = DeadlineQueue(100)
    queue.begin("a", 0)
    queue.begin("a", 90)
    assert queue.take_expired(100) == ["a"]


def test_what_is_discarded_never_expires() -> None:
    queue: DeadlineQueue[str] = DeadlineQueue(100)
    queue.touch("a", 0)
    queue.discard("a")
    queue.discard("never seen")
    assert queue.next_deadline_ms() is None
    assert queue.take_expired(1_000) == []
