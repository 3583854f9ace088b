"""How far voters and observers are, as the leader of three voters tells it."""

from __future__ import annotations

from millstream.model import ZERO_UUID, Uuid
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    FetchRequest,
    InboundRequest,
    InboundResponse,
    LogPosition,
    Tick,
    VoteResponse,
)
from millstream.raft.quorum_description import ReplicaDescription
from millstream.raft.replica import RaftReplica
from millstream.raft.roles import Leader
from millstream.raft.voter_set import ReplicaKey
from millstream.runtime import Instant
from tests.unit.raft.replicas import KEYS, StubLog, replica

WALL_MS = 1_700_000_000_000
NEW_DISK = ReplicaKey(2, Uuid(b"n" * 16))
OBSERVER = ReplicaKey(9, Uuid(b"o" * 16))


class Led:
    """Voter 1 leads epoch 5 of three voters; its log ends at 10."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.log = StubLog(10, 4)
        self.replica: RaftReplica = replica(stored=ElectionState(4), log=self.log)
        ready = self.step(Tick(), 1_000)
        while not isinstance(self.replica.quorum.role, Leader):
            send = next(each for each in ready.send if each.to.id == 2)
            epoch = self.replica.quorum.epoch
            ready = self.step(InboundResponse(send, VoteResponse(epoch=epoch, granted=True)))
        self.log.end = LogPosition(11, 4)
        self.step(Tick())

    def step(self, event: object, after_ms: int = 0) -> object:
        self.now_ms += after_ms
        return self.replica.step(event, self.now)

    @property
    def now(self) -> Instant:
        return Instant(WALL_MS + self.now_ms, self.now_ms)

    def fetch(self, source: ReplicaKey, end_offset: int, after_ms: int = 10) -> None:
        request = FetchRequest(
            source=source, epoch=5, log=LogPosition(end_offset, 4), high_watermark=0
        )
        self.step(InboundRequest(1, request), after_ms)

    def voters(self) -> dict[int, tuple[int, int, int]]:
        return {each.key.id: numbers(each) for each in self.replica.describe(self.now).voters}

    def observers(self) -> dict[ReplicaKey, tuple[int, int, int]]:
        return {each.key: numbers(each) for each in self.replica.describe(self.now).observers}


def numbers(replica: ReplicaDescription) -> tuple[int, int, int]:
    """End, last fetch and last caught up, in milliseconds of the simulated clock."""

    def since_start(wall_ms: int) -> int:
        return wall_ms - WALL_MS if wall_ms >= 0 else wall_ms

    return (
        replica.log_end_offset,
        since_start(replica.last_fetch_ms),
        since_start(replica.last_caught_up_ms),
    )


def test_a_leader_has_everything_now_and_knows_nothing_of_who_was_not_heard() -> None:
    led = Led()
    led.now_ms += 500
    assert led.voters() == {1: (11, 1_500, 1_500), 2: (-1, -1, -1), 3: (-1, -1, -1)}


def test_a_voter_that_lags_is_caught_up_no_more() -> None:
    led = Led()
    led.fetch(KEYS[1], 10)
    assert led.voters()[2] == (10, 1_010, -1)
    led.log.end = LogPosition(20, 4)
    led.fetch(KEYS[1], 10)
    assert led.voters()[2] == (10, 1_020, -1)


def test_who_fetches_from_the_end_of_the_fetch_before_was_caught_up_then() -> None:
    """Under load nobody ever fetches from the very end."""
    led = Led()
    led.fetch(KEYS[1], 10)
    led.log.end = LogPosition(12, 4)
    led.fetch(KEYS[1], 11)
    assert led.voters()[2] == (11, 1_020, 1_010)
    led.fetch(KEYS[1], 12)
    assert led.voters()[2] == (12, 1_030, 1_030)


def test_observers_are_told_by_id_and_directory_and_promise_nothing() -> None:
    led = Led()
    for source in (OBSERVER, NEW_DISK, ReplicaKey(2, ZERO_UUID)):
        led.fetch(source, 11)
    assert led.observers() == {
        OBSERVER: (11, 1_010, 1_010),
        NEW_DISK: (11, 1_020, 1_020),
        ReplicaKey(2, ZERO_UUID): (11, 1_030, 1_030),
    }
    assert led.voters()[2] == (-1, -1, -1)
    assert led.replica.high_watermark == 0


def test_an_observer_that_is_gone_for_300_s_is_forgotten() -> None:
    led = Led()
    led.fetch(OBSERVER, 10)
    led.now_ms += 299_999
    assert OBSERVER in led.observers()
    led.now_ms += 1
    assert led.observers() == {}


def test_a_follower_knows_who_votes_and_no_more() -> None:
    follower = replica(stored=ElectionState(4, leader_id=2), log=StubLog(10, 4))
    told = follower.describe(Instant(WALL_MS, 0))
    assert told.voters == tuple(ReplicaDescription(key, -1, -1, -1) for key in KEYS)
