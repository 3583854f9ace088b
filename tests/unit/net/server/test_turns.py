"""Who goes on next, with a clock that goes on by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from millstream.net.server.turns import ROUND_S, TURN_S, Turns


@dataclass
class Loop:
    """What `call_soon` was given, and the time."""

    called: deque[Callable[[], None]] = field(default_factory=deque)
    now_s: float = 0.0
    started: list[str] = field(default_factory=list)

    def turns(self) -> Turns:
        return Turns(lambda: self.now_s, self.called.append)

    def run_once(self) -> None:
        for _ in range(len(self.called)):
            self.called.popleft()()


@dataclass(eq=False)
class Client:
    """Has so many requests left, one a turn, each of so many seconds."""

    name: str
    loop: Loop
    turns: Turns
    left: int
    takes_s: float

    def take_turn(self) -> None:
        self.loop.started.append(self.name)
        self.loop.now_s += self.takes_s
        self.left -= 1
        if self.left:
            self.turns.ask(self)


def test_each_has_its_turn_before_one_has_a_second() -> None:
    loop = Loop()
    turns = loop.turns()
    for name in "abc":
        turns.ask(Client(name, loop, turns, left=2, takes_s=0.0))
    loop.run_once()
    assert loop.started == list("abcabc")


def test_a_round_ends_when_its_time_is_over_and_the_next_goes_on_where_it_ended() -> None:
    loop = Loop()
    turns = loop.turns()
    for name in "abc":
        turns.ask(Client(name, loop, turns, left=2, takes_s=ROUND_S / 2))
    loop.run_once()
    assert loop.started == list("ab")
    loop.run_once()
    assert loop.started == list("abca")


def test_a_long_request_is_a_round_of_its_own() -> None:
    loop = Loop()
    turns = loop.turns()
    turns.ask(Client("long", loop, turns, left=1, takes_s=10 * ROUND_S))
    turns.ask(Client("short", loop, turns, left=1, takes_s=0.0))
    loop.run_once()
    assert loop.started == ["long"]
    loop.run_once()
    assert loop.started == ["long", "short"]


def test_who_asks_twice_has_one_turn_and_who_is_gone_has_none() -> None:
    loop = Loop()
    turns = loop.turns()
    twice, gone = (Client(name, loop, turns, 1, 0.0) for name in ("twice", "gone"))
    turns.ask(twice)
    turns.ask(gone)
    turns.ask(twice)
    turns.forget(gone)
    loop.run_once()
    assert loop.started == ["twice"]
    assert not loop.called, "nobody waits, so nothing runs"


def test_who_begins_while_others_wait_has_one_request_and_queues_behind_them() -> None:
    loop = Loop()
    turns = loop.turns()
    assert turns.turn_s == TURN_S
    turns.ask(Client("busy", loop, turns, left=2, takes_s=ROUND_S))
    assert turns.turn_s == 0
    loop.run_once()
    assert turns.turn_s == 0, "it asked again"
    loop.run_once()
    assert turns.turn_s == TURN_S
