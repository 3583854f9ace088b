"""A controller whose disk stands still: it tells nobody what it has not written, and its loop goes on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any  # a listener that hears nothing

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.listeners import Listener
from millstream.broker.metadata_log.driver import MetadataDriver
from millstream.broker.metadata_log.log import MetadataLog
from millstream.broker.metadata_log.quorum import MetadataQuorum
from millstream.broker.storage.data_directory import open_data_directories
from millstream.broker.storage.disk_pool import DiskPool
from millstream.errors import KafkaStorageError, NotController
from millstream.log.directory.log_environment import LogEnvironment
from millstream.metadata.topic_config import LogConfig
from millstream.model import NO_LEADER_EPOCH, BrokerId, LeaderEpoch, Offset, Uuid
from millstream.raft.election_state import ElectionState, encode_quorum_state
from millstream.raft.messages import (
    BeginQuorumEpochRequest,
    FetchResponse,
    InboundResponse,
    LogPosition,
    Send,
    VoteRequest,
    VoteResponse,
)
from millstream.raft.ready import AppendBatch
from millstream.raft.voter_set import KRAFT_VERSION_STATIC, ReplicaKey
from millstream.runtime.system import SystemClock, SystemRandom
from tests.support.standing_disk import PATIENCE_S, StandingDisk

ALONE = broker_config({"log.dirs": "data"})
CONFIG = broker_config(
    {"log.dirs": "data", "controller.quorum.voters": "1@h:1,2@h:2,3@h:3", "node.id": "1"}
)
OTHER, THIRD = ReplicaKey(BrokerId(2), Uuid(bytes(15) + b"\2")), ReplicaKey(BrokerId(3), Uuid(bytes(15) + b"\3"))  # fmt: skip
EMPTY = LogPosition(Offset(0), NO_LEADER_EPOCH)
EPOCH = LeaderEpoch(5)


class Listening:
    def __getattr__(self, _name: str) -> Callable[..., Any]:
        return lambda *_: []


class Peers:
    """Takes what is sent, and answers when the test says so."""

    def __init__(self) -> None:
        self.sent: list[tuple[Send, Callable[[Any], None]]] = []

    async def send(self, sent: Send, take: Callable[[Any], None]) -> None:
        self.sent.append((sent, take))


class World:
    """Voter 1 of three. What it has in its log before it starts: records of leader epoch 4."""

    def __init__(self, records: int = 0) -> None:
        self.disk, self.pool, self.peers = StandingDisk(), DiskPool(), Peers()
        environment, now = LogEnvironment(self.disk, SystemRandom()), SystemClock().now()
        directories = open_data_directories(ALONE, environment, None)
        self.own = ReplicaKey(BrokerId(1), directories.metadata.meta.directory_id)
        log = MetadataLog.open(directories.metadata, self.disk, LogConfig(), now)
        for number in range(records):
            log.append(AppendBatch(base_offset=Offset(number), epoch=LeaderEpoch(4), data=(b"r",)), now)  # fmt: skip
        if records:
            known = encode_quorum_state(ElectionState(LeaderEpoch(4)), KRAFT_VERSION_STATIC, (BrokerId(each) for each in (1, 2, 3)))  # fmt: skip
            self.disk.write_atomically(f"{log.log.directory}/quorum-state", known)
        log.log.close(now)
        directories.abandon()
        quorum = MetadataQuorum(
            CONFIG,
            open_data_directories(ALONE, environment, None).metadata,
            environment,
            pool=self.pool,
            clock=SystemClock(),
            endpoints=(Listener("CONTROLLER", "h", 1),),
        )
        self.driver: MetadataDriver = quorum.driver(Listening(), self.peers)  # type: ignore[arg-type]  # as much as is called
        self.log = self.driver._log

    async def vote(self, candidate: ReplicaKey, epoch: int) -> VoteResponse:
        request = VoteRequest(source=candidate, epoch=LeaderEpoch(epoch), log=LogPosition(Offset(9), LeaderEpoch(4)), voter=self.own)  # fmt: skip
        answer = await self.driver.answer(request)
        assert isinstance(answer, VoteResponse)
        return answer


def told(
    story: Callable[[World], Coroutine[Any, Any, None]], records: int = 0
) -> Callable[[], None]:
    async def run() -> None:
        w = World(records)
        w.driver.start()
        w.driver.flush()
        running = asyncio.create_task(w.driver.run())
        await asyncio.sleep(0)
        try:
            await story(w)
        finally:
            w.disk.may_go.set()
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError, ExceptionGroup):
                await running
            w.pool.close()

    def test() -> None:
        asyncio.run(run())

    test.__doc__ = story.__doc__
    return test


async def within(awaited: Awaitable[Any]) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        return await awaited


@told
async def test_a_vote_is_given_once_it_is_on_the_disk(w: World) -> None:
    w.disk.stand_still()
    first = asyncio.create_task(w.vote(OTHER, EPOCH))
    await w.disk.until_somebody_waits()
    second = asyncio.create_task(w.vote(THIRD, EPOCH))
    third = asyncio.create_task(w.vote(OTHER, EPOCH + 1))
    await asyncio.sleep(0)
    assert [each.done() for each in (first, second, third)] == [False] * 3
    assert w.log.read_election_state().epoch < EPOCH
    w.disk.may_go.set()
    assert (await within(first)).granted
    assert not (await within(second)).granted, "it has its place behind the first"
    assert (await within(third)).granted
    stored = w.log.read_election_state()
    assert stored.voted is not None
    assert (stored.epoch, stored.voted.id) == (EPOCH + 1, OTHER.id)


@told
async def test_nothing_is_proposed_before_the_epoch_is_on_the_disk(w: World) -> None:
    w.disk.stand_still()
    voting = asyncio.create_task(w.vote(OTHER, EPOCH))
    await w.disk.until_somebody_waits()
    with pytest.raises(NotController):
        w.driver.propose([b"r"], EPOCH)
    with pytest.raises(NotController):
        w.driver.upgrade_kraft_version(EPOCH)
    w.disk.may_go.set()
    await within(voting)


@told
async def test_a_vote_that_cannot_be_written_ends_the_node(w: World) -> None:
    w.disk.is_broken = True
    voting = asyncio.create_task(w.vote(OTHER, EPOCH))
    await asyncio.wait([voting], timeout=0.2)  # what must not happen is not waited for
    assert not voting.done(), "nobody is told"
    voting.cancel()
    with pytest.raises(KafkaStorageError, match="offline"):
        w.driver.resign()


def test_a_node_that_ends_while_its_disk_stands_still_writes_what_is_newer_last() -> None:
    async def story() -> None:
        w = World()
        w.driver.start()
        running = asyncio.create_task(w.driver.run())
        await asyncio.sleep(0)
        w.disk.stand_still()
        voting = asyncio.create_task(w.vote(OTHER, EPOCH))
        await w.disk.until_somebody_waits()
        voting.cancel()
        running.cancel()
        await asyncio.wait([voting, running])
        resigning = asyncio.create_task(asyncio.to_thread(w.driver.resign))
        w.disk.may_go.set()
        await within(resigning)
        w.pool.close()
        assert w.log.read_election_state().epoch == EPOCH

    asyncio.run(story())


def test_a_node_that_ends_before_a_vote_is_written_gives_it_to_nobody_who_asks_once_more() -> None:
    async def story() -> None:
        w = World()
        w.driver.start()
        running = asyncio.create_task(w.driver.run())
        await asyncio.sleep(0)
        w.disk.stand_still()
        voting = asyncio.create_task(w.vote(OTHER, EPOCH))
        await w.disk.until_somebody_waits()
        running.cancel()
        await asyncio.wait([running])
        sent = len(w.peers.sent)
        again = asyncio.create_task(w.vote(OTHER, EPOCH))
        w.driver.resign()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [each.done() for each in (voting, again)] == [False] * 2, "no disk has it"
        assert len(w.peers.sent) == sent
        for each in (voting, again):
            each.cancel()
        await asyncio.wait([voting, again])
        w.disk.may_go.set()
        w.pool.close()

    asyncio.run(story())


def test_the_log_is_cut_while_the_loop_goes_on_and_only_then_fetched_again() -> None:
    async def story(w: World) -> None:
        begins = BeginQuorumEpochRequest(source=BrokerId(2), epoch=EPOCH, voter=w.own)
        await within(w.driver.answer(begins))
        await asyncio.sleep(0)
        fetch, take = w.peers.sent.pop()
        w.peers.sent.clear()
        w.disk.stand_still()
        diverging = FetchResponse(epoch=EPOCH, leader_id=BrokerId(2), diverging=LogPosition(Offset(1), LeaderEpoch(3)))  # fmt: skip
        take(InboundResponse(fetch, diverging))
        await w.disk.until_somebody_waits()
        voting = asyncio.create_task(w.vote(THIRD, EPOCH))
        await asyncio.sleep(0)
        assert (w.peers.sent, voting.done()) == ([], False)
        w.disk.may_go.set()
        await within(voting)
        assert w.log.position() == EMPTY
        assert [sent.message for sent, _ in w.peers.sent if hasattr(sent.message, "log")]

    told(story, records=3)()
