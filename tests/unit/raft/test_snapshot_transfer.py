"""Snapshots between replicas: when a leader names one, and how a follower fetches it."""

from __future__ import annotations

import pytest

from millstream.errors import KafkaStorageError, PositionOutOfRange, SnapshotNotFound
from millstream.raft.election_state import ElectionState
from millstream.raft.log_progress import LogProgress
from millstream.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    InboundRequest,
    InboundResponse,
    LogPosition,
    SnapshotInstalled,
    SnapshotRefused,
    Tick,
    Unanswered,
)
from millstream.raft.ready import Ready, SnapshotPiece, SnapshotTransfer
from millstream.raft.roles import Follower
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import Voter, VoterSet
from tests.sim.raft_log import MemoryLog
from tests.unit.raft.replicas import KEYS, StubLog, at, replica

OLD, NEW = SnapshotId(100, 3), SnapshotId(120, 4)


def log_of(*epochs: int, start: int = 0) -> MemoryLog:
    """One record for each epoch given. With a `start`, a snapshot ends there and another at the end."""
    log = MemoryLog()
    log.entries = [(epoch, "x") for epoch in epochs]
    log.synced = len(epochs)
    if start:
        log.take_snapshot(start)
        log.take_snapshot(len(epochs))
    return log


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ((0, -1), None),
        ((2, 1), None),
        ((3, 2), None),
        ((3, 1), LogPosition(2, 1)),
        ((9, 1), LogPosition(2, 1)),
        ((5, 3), LogPosition(3, 2)),
        ((5, 4), None),
        ((9, 9), LogPosition(5, 4)),
        ((2, 0), LogPosition(0, 0)),
    ],
)
def test_a_log_from_0_says_where_another_leaves_it(
    theirs: tuple[int, int], expected: LogPosition | None
) -> None:
    log = LogProgress(log_of(1, 1, 2, 4, 4))
    assert log.divergence(LogPosition(*theirs)) == expected


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ((0, -1), SnapshotId(5, 4)),
        ((2, 1), SnapshotId(5, 4)),
        ((3, 2), None),
        ((3, 1), SnapshotId(5, 4)),
        ((4, 1), SnapshotId(5, 4)),
        ((9, 1), SnapshotId(5, 4)),
        ((5, 2), LogPosition(3, 2)),
        ((5, 3), LogPosition(3, 2)),
        ((4, 4), None),
        ((5, 4), None),
        ((6, 4), LogPosition(5, 4)),
    ],
)
def test_a_log_that_begins_later_names_its_newest_snapshot(
    theirs: tuple[int, int], expected: LogPosition | SnapshotId | None
) -> None:
    """Offset 0 continues only a log that begins there."""
    log = LogProgress(log_of(1, 1, 2, 4, 4, start=3))
    assert log.divergence(LogPosition(*theirs)) == expected


def test_a_transfer_takes_the_next_piece_only() -> None:
    transfer = SnapshotTransfer(NEW, 4)

    def answer(position: int, data: bytes, snapshot: SnapshotId = NEW) -> FetchSnapshotResponse:
        return FetchSnapshotResponse(epoch=4, id=snapshot, position=position, size=8, data=data)

    assert transfer.piece(answer(4, b"ab")) == SnapshotPiece(NEW, 4, b"ab", False)
    assert transfer.piece(answer(4, b"abcd")) == SnapshotPiece(NEW, 4, b"abcd", True)
    for wrong in (
        answer(0, b"abcd"), answer(4, b""), answer(4, b"abcde"), answer(4, b"ab", OLD)
    ):  # fmt: skip
        assert transfer.piece(wrong) is None


class Behind:
    """A follower of leader 2 in epoch 4, told to fetch the snapshot NEW."""

    def __init__(self) -> None:
        self.log = StubLog(10, 3)
        self.replica = replica(stored=ElectionState(4, leader_id=2), log=self.log)
        self.now_ms = 0
        self.ready = self.step(Tick())
        self.answer(FetchResponse(epoch=4, leader_id=2, snapshot=NEW))

    def step(self, event: object, after_ms: int = 1) -> Ready:
        self.now_ms += after_ms
        self.ready = self.replica.step(event, at(self.now_ms))
        return self.ready

    def answer(self, response: object) -> None:
        (send,) = self.ready.send
        self.step(InboundResponse(send, response))

    def give(self, data: bytes, *, position: int) -> None:
        self.answer(
            FetchSnapshotResponse(
                epoch=4, leader_id=2, id=NEW, position=position, size=4, data=data
            )
        )

    @property
    def asks(self) -> object:
        (send,) = self.ready.send
        assert send.to.id == 2
        return send.message

    def install(self, voters: VoterSet | None = None) -> None:
        self.log.end = LogPosition(*NEW)
        self.step(SnapshotInstalled(NEW, voters))


def wants(position: int, snapshot: SnapshotId = NEW) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(source=KEYS[0], epoch=4, id=snapshot, position=position)


def test_a_follower_fetches_a_snapshot_piece_by_piece_and_goes_on_behind_it() -> None:
    follower = Behind()
    assert follower.asks == wants(0)
    follower.give(b"ab", position=0)
    assert follower.ready.snapshot_piece == SnapshotPiece(NEW, 0, b"ab", False)
    assert follower.asks == wants(2)
    follower.give(b"cd", position=2)
    assert follower.ready.snapshot_piece == SnapshotPiece(NEW, 2, b"cd", True)
    assert follower.ready.send == ()
    follower.install(VoterSet([Voter(KEYS[1])]))
    assert follower.ready.high_watermark == 120
    assert follower.replica.quorum.voters.ids == {2}
    assert follower.asks == FetchRequest(
        source=KEYS[0], epoch=4, log=LogPosition(120, 4), high_watermark=120
    )


def test_nobody_stands_while_a_snapshot_takes_the_place_of_the_log() -> None:
    follower = Behind()
    follower.give(b"abcd", position=0)
    follower.step(Tick(), after_ms=60_000)
    assert follower.ready.send == ()
    follower.install()
    assert isinstance(follower.replica.quorum.role, Follower)
    assert isinstance(follower.asks, FetchRequest)


def test_a_snapshot_that_the_leader_has_no_more_is_started_over() -> None:
    for error in (SnapshotNotFound, PositionOutOfRange):
        follower = Behind()
        follower.give(b"ab", position=0)
        follower.answer(
            FetchSnapshotResponse(epoch=4, leader_id=2, error=error, id=NEW, position=2)
        )
        assert isinstance(follower.step(Tick(), after_ms=1_000).send[0].message, FetchRequest)


def test_another_leader_is_asked_for_its_own_snapshot() -> None:
    follower = Behind()
    follower.give(b"ab", position=0)
    follower.answer(FetchResponse(epoch=5, leader_id=3))
    (send,) = follower.ready.send
    assert (send.to.id, type(send.message)) == (3, FetchRequest)


def test_a_piece_that_comes_late_is_not_written_twice() -> None:
    follower = Behind()
    (first,) = follower.ready.send
    follower.give(b"ab", position=0)
    late = FetchSnapshotResponse(epoch=4, leader_id=2, id=NEW, position=0, size=4, data=b"ab")
    assert follower.step(InboundResponse(first, late)).snapshot_piece is None


def test_a_piece_that_does_not_come_is_asked_for_again() -> None:
    follower = Behind()
    follower.give(b"ab", position=0)
    asked = []
    for _ in range(2):
        (send,) = follower.ready.send
        follower.step(Unanswered(send))
        asked += follower.step(Tick(), after_ms=20).send
    assert [(send.to.id, type(send.message)) for send in asked] == [
        (3, FetchRequest),
        (2, FetchSnapshotRequest),
    ]
    assert asked[1].message == wants(2)


def test_a_damaged_snapshot_is_fetched_anew() -> None:
    follower = Behind()
    follower.give(b"abcd", position=0)
    follower.step(SnapshotRefused(NEW))
    follower.step(Tick(), after_ms=1_000)
    (send,) = follower.ready.send
    assert isinstance(send.message, FetchRequest)


def test_a_snapshot_of_what_is_committed_here_is_of_another_cluster() -> None:
    follower = replica(
        stored=ElectionState(4, leader_id=2), log=StubLog(130, 3, high_watermark=125)
    )
    (send,) = follower.step(Tick(), at(0)).send
    answer = FetchResponse(epoch=4, leader_id=2, snapshot=NEW)
    with pytest.raises(KafkaStorageError, match="125 records are committed"):
        follower.step(InboundResponse(send, answer), at(1))


@pytest.mark.parametrize(
    ("position", "snapshot", "error"),
    [
        (0, SnapshotId(5, 4), None),
        (-1, SnapshotId(5, 4), PositionOutOfRange),
        (10**6, SnapshotId(5, 4), PositionOutOfRange),
        (0, SnapshotId(4, 4), SnapshotNotFound),
    ],
)
def test_a_leader_has_some_snapshots_and_positions(
    position: int, snapshot: SnapshotId, error: type | None
) -> None:
    log = log_of(1, 1, 2, 4, 4, start=3)
    leader = replica(VoterSet([Voter(KEYS[0])]), ElectionState(4), log)
    leader.step(Tick(), at(0))
    request = FetchSnapshotRequest(source=KEYS[1], epoch=5, id=snapshot, position=position)
    (reply,) = leader.step(InboundRequest(1, request), at(0)).reply
    assert reply.response.error is error
    assert reply.response.size == (log.snapshot_bytes(snapshot) or 0)
