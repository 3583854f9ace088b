"""How many replicas are copied from one directory to another at the same time."""

from __future__ import annotations

import asyncio
import errno
import os
from dataclasses import dataclass, field
from typing import Any  # a thread's work

import pytest

from millstream.broker.storage.replica_moves import ReplicaMoves
from millstream.model import TopicPartition
from millstream.runtime.system import SystemClock

_A_LOT = 1 << 30


class NoCut:
    is_under_way = False


class NoEpochs:
    latest_epoch = -1


class Nothing:
    records = b""


@dataclass
class Health:
    failure: str | None = None


@dataclass
class Log:
    """Of a replica, which has much more than its copy, and says when it is read."""

    name: TopicPartition
    copied: set[TopicPartition]
    directory = "/second/t-0-future"
    health: Health = field(default_factory=Health)
    cuts = NoCut()
    leader_epochs = NoEpochs()
    log_start_offset = log_end_offset = 0

    def readable_bytes(self, *_: object) -> int:
        return _A_LOT

    def read(self, *_: object) -> Nothing:
        self.copied.add(self.name)
        return Nothing()


@dataclass
class Replica:
    topic_partition: TopicPartition
    log: Log
    topic_id: None = None


@dataclass
class World:
    """Replicas whose copies never end."""

    copied: set[TopicPartition] = field(default_factory=set)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, coroutine: Any, name: str) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(coroutine, name=name))

    def of(self, _log: object) -> object:
        return self

    async def run(self, work: Any) -> int:
        await asyncio.sleep(0)
        return 1

    def hosted(self, number: int) -> Any:
        name = TopicPartition("t", number)
        return Replica(name, Log(name, self.copied))


class Target:
    """It has one copy of a replica at a time, as a directory has."""

    failure: str | None = None
    path = "/second"

    def __init__(self) -> None:
        self.futures: list[Log] = []

    def open_future_log(self, log: Log, *_: object) -> Any:
        self.futures = [Log(log.name, set())]
        return self.futures[0]

    def drop_future_log(self, future: Log) -> None:
        self.futures = [each for each in self.futures if each is not future]


@pytest.mark.parametrize("at_once", [1, 2])
async def test_so_many_replicas_are_copied_at_a_time(at_once: int) -> None:
    w, target = World(), Target()
    moves = ReplicaMoves(w, w, w, SystemClock(), on_moved=lambda *_: None, copies_at_once=at_once)  # type: ignore[arg-type]  # what is asked of them
    replicas = [w.hosted(number) for number in range(3)]
    for each in replicas:
        moves.move(each, target)  # type: ignore[arg-type]  # the same
    for _ in range(50):
        await asyncio.sleep(0)
    assert w.copied == {each.topic_partition for each in replicas[:at_once]}
    replicas[0].log.health.failure = "its disk is gone"
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(w.copied) == at_once + 1, "the next one has its turn"
    for task in w.tasks:
        task.cancel()
    await asyncio.wait(w.tasks)


async def test_a_move_that_was_called_off_and_asked_for_again_is_made_by_its_own_copier() -> None:
    """The first copier finds the replica on its way to where it was, with another copy than its own."""
    w, first, second = World(), Target(), Target()
    moves = ReplicaMoves(w, w, w, SystemClock(), on_moved=lambda *_: None, copies_at_once=3)  # type: ignore[arg-type]  # what is asked of them
    replica = w.hosted(0)
    for target in (first, second, first):
        moves.move(replica, target)  # type: ignore[arg-type]  # the same
    for _ in range(50):
        await asyncio.sleep(0)
    assert [task.done() for task in w.tasks] == [True, True, False]
    assert (len(first.futures), second.futures) == (1, [])
    w.tasks[2].cancel()
    await asyncio.wait(w.tasks)


async def test_the_replica_of_a_topic_that_was_made_anew_moves_although_the_last_one_waits_for_its_turn() -> (
    None
):
    w, target = World(), Target()
    moves = ReplicaMoves(w, w, w, SystemClock(), on_moved=lambda *_: None, copies_at_once=1)  # type: ignore[arg-type]  # what is asked of them
    first, deleted, made_anew = w.hosted(0), w.hosted(1), w.hosted(1)
    for each in (first, deleted):
        moves.move(each, target)  # type: ignore[arg-type]  # the same
    deleted.log.health.failure = "its topic was deleted"
    moves.move(made_anew, target)  # type: ignore[arg-type]  # the same
    first.log.health.failure = "its disk is gone"
    for _ in range(50):
        await asyncio.sleep(0)
    assert [task.done() for task in w.tasks] == [True, True, False]
    w.tasks[2].cancel()
    await asyncio.wait(w.tasks)


async def test_the_copy_of_a_move_that_is_called_off_is_dropped_before_its_turn() -> None:
    """Others may be copied for hours before it, and who looks would see that the replica moves."""
    w, target, back = World(), Target(), Target()
    moves = ReplicaMoves(w, w, w, SystemClock(), on_moved=lambda *_: None, copies_at_once=1)  # type: ignore[arg-type]  # what is asked of them
    copied, waits, is_asked_back = w.hosted(0), w.hosted(1), w.hosted(2)
    w.of = lambda log: back if log is is_asked_back.log else w  # type: ignore[method-assign]  # where each replica is
    for each in (copied, waits, is_asked_back):
        moves.move(each, Target() if each is copied else target)  # type: ignore[arg-type]  # the same
        await asyncio.sleep(0)
    assert [log.name for log in target.futures] == [is_asked_back.topic_partition]
    moves.move(is_asked_back, back)  # type: ignore[arg-type]  # the same
    assert target.futures == []
    for task in w.tasks:
        task.cancel()
    await asyncio.wait(w.tasks)


class BrokenTarget(Target):
    """Its disk dies under the copy."""

    def drop_future_log(self, future: Log) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), f"/second/{future.name}-future")


async def test_a_disk_that_dies_under_a_copy_ends_the_move_and_not_the_node(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What cannot be removed goes at the next start."""
    w, target = World(), BrokenTarget()
    moves = ReplicaMoves(w, w, w, SystemClock(), on_moved=lambda *_: None, copies_at_once=1)  # type: ignore[arg-type]  # what is asked of them
    replica = w.hosted(0)
    moves.move(replica, target)  # type: ignore[arg-type]  # the same
    target.failure = "its disk is gone"
    (ended,) = w.tasks
    await asyncio.wait((ended,))
    assert ended.exception() is None
    assert "stays until the next start: [Errno 5]" in caplog.text
