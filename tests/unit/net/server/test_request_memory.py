"""Who has to wait when unanswered requests take too much memory."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.net.server.request_memory import RequestMemory


@dataclass(eq=False)
class Client:
    resumed: int = 0

    def resume_reading(self) -> None:
        self.resumed += 1


def test_nobody_waits_below_the_bound() -> None:
    memory, client = RequestMemory(100), Client()
    memory.hold(client, 99, in_request=False)
    assert not memory.is_short
    assert not memory.must_wait(client, in_request=False)


def test_only_who_holds_more_than_an_equal_share_waits() -> None:
    memory, greedy, modest, newcomer = RequestMemory(100), Client(), Client(), Client()
    memory.hold(greedy, 90, in_request=False)
    memory.hold(modest, 50, in_request=False)
    assert memory.is_short
    assert memory.must_wait(greedy, in_request=False)
    assert not memory.must_wait(modest, in_request=False)
    assert not memory.must_wait(newcomer, in_request=False)


def test_who_waits_goes_on_when_memory_is_there_again() -> None:
    memory, greedy, other = RequestMemory(100), Client(), Client()
    memory.hold(greedy, 80, in_request=False)
    memory.hold(other, 40, in_request=False)
    assert memory.must_wait(greedy, in_request=False)
    memory.hold(other, 30, in_request=False)
    assert greedy.resumed == 0
    memory.hold(other, 0, in_request=False)
    assert greedy.resumed == 1


def test_one_at_a_time_completes_its_request_so_that_none_waits_for_another_for_ever() -> None:
    memory, first, second, third = RequestMemory(90), Client(), Client(), Client()
    for client in (first, second, third):
        memory.hold(client, 31, in_request=True)
    assert not memory.must_wait(first, in_request=True)
    assert memory.must_wait(second, in_request=True)
    assert memory.must_wait(third, in_request=True)
    memory.hold(first, 60, in_request=True)
    assert not memory.must_wait(first, in_request=True)
    assert (second.resumed, third.resumed) == (0, 0)
    memory.hold(first, 90, in_request=False)  # complete, and not answered yet
    assert (second.resumed, third.resumed) == (1, 0)
    assert not memory.must_wait(second, in_request=True)


def test_the_next_may_complete_its_request_when_the_one_before_is_gone() -> None:
    memory, stalled, waiting = RequestMemory(50), Client(), Client()
    memory.hold(stalled, 40, in_request=True)
    memory.hold(waiting, 60, in_request=True)
    assert not memory.must_wait(stalled, in_request=True)
    memory.hold(stalled, 41, in_request=True)
    assert memory.must_wait(waiting, in_request=True)
    memory.forget(stalled)
    assert waiting.resumed == 1
    assert not memory.must_wait(waiting, in_request=True)


def test_who_is_gone_is_not_called_and_holds_nothing() -> None:
    memory, gone = RequestMemory(10), Client()
    memory.hold(gone, 20, in_request=False)
    memory.hold(Client(), 1, in_request=False)
    assert memory.must_wait(gone, in_request=False)
    memory.forget(gone)
    assert not memory.is_short
    assert gone.resumed == 0


def test_a_bound_that_is_raised_lets_everybody_go_on() -> None:
    memory, client = RequestMemory(10), Client()
    memory.hold(client, 20, in_request=False)
    assert memory.must_wait(client, in_request=False)
    memory.change_limit(100)
    assert client.resumed == 1
