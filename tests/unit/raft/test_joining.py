"""What a follower asks to be changed of the voters."""

from __future__ import annotations

import pytest

from millstream.errors import RequestTimedOut
from millstream.raft.election_state import ElectionState
from millstream.raft.joining import wanted_change
from millstream.raft.messages import (
    AddVoterRequest,
    Appended,
    FetchRequest,
    FetchResponse,
    FetchSnapshotResponse,
    Flushed,
    InboundResponse,
    RemoveVoterRequest,
    Send,
    Tick,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from millstream.raft.quorum_state import RaftIdentity, RaftTimeouts
from millstream.raft.replica import RaftReplica
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_history import QuorumEntry, VoterHistory
from millstream.raft.voter_set import ReplicaKey, Voter, VoterSet, voters_record
from tests.sim.raft_log import MemoryLog
from tests.unit.raft.led_quorum import key, voter
from tests.unit.raft.replicas import Never, at

OTHERS = (voter(1), voter(2))
OWN = voter(3)
ADD = AddVoterRequest(voter=OWN, ack_when_committed=False)


@pytest.mark.parametrize(
    ("named", "kraft_version", "may_join", "expected"),
    [
        ([OWN], 1, True, None),
        ([voter(3, host="before")], 1, False, UpdateVoterRequest(epoch=5, voter=OWN)),
        ([voter(3, disk=9)], 1, True, RemoveVoterRequest(voter=key(3, disk=9))),
        ([voter(3, disk=9)], 1, False, None),
        ([], 1, True, ADD),
        ([], 1, False, None),
        ([], 0, True, None),
        ([Voter(ReplicaKey(3), OWN.endpoints)], 0, False, UpdateVoterRequest(epoch=5, voter=OWN)),
    ],
)
def test_a_follower_wants_its_entry_to_be_right(
    named: list[Voter], kraft_version: int, may_join: bool, expected: object
) -> None:
    entry = QuorumEntry(7, kraft_version, VoterSet([*OTHERS, *named]))
    identity = RaftIdentity(key(3), OWN.endpoints)
    assert wanted_change(identity, entry, 5, may_join=may_join) == expected


class Newcomer:
    """Replica 3 follows leader 1 in epoch 5. It may join by itself if its log lets it."""

    def __init__(self, log: MemoryLog | None = None, history: VoterHistory | None = None) -> None:
        self.log = log or MemoryLog()
        self.now_ms = 0
        self.replica = RaftReplica(
            RaftIdentity(key(3), OWN.endpoints, joins_by_itself=True),
            history or VoterHistory.bootstrapped(VoterSet(OTHERS)),
            RaftTimeouts(),
            Never(),
            self.log,
            stored=ElectionState(5, leader_id=1),
            now=at(0),
        )
        self.ready = self.replica.step(Tick(), at(0))
        self.sends = list(self.ready.send)

    def step(self, event: object) -> None:
        self.ready = self.replica.step(event, at(self.now_ms))
        self.sends += self.ready.send

    def answer(self, response: object) -> None:
        (send,) = self.sends
        self.sends.clear()
        self.step(InboundResponse(send, response))

    def hear(self, *named: VoterSet) -> None:
        """The leader answers the fetch, with records that name voters; all of them are committed."""
        fetch = next(send for send in self.sends if isinstance(send.message, FetchRequest))
        self.sends.remove(fetch)
        end = len(self.log.entries) + len(named)
        answer = FetchResponse(
            epoch=5, leader_id=1, high_watermark=end, records=b"x" if named else b""
        )
        self.step(InboundResponse(fetch, answer))
        if named:
            start = len(self.log.entries)
            records = [voters_record(voters) for voters in named]
            self.log.entries += [(5, record) for record in records]
            self.step(Appended(self.log.position(), tuple(enumerate(records, start))))
            self.step(Flushed(end))

    def next_request(self, within_ms: int = 10_000) -> Send | None:
        """What it asks for next, while the leader answers its fetches."""
        for _ in range(within_ms // 50):
            self.now_ms += 50
            self.hear()
            self.step(Tick())
            asked = [send for send in self.sends if not isinstance(send.message, FetchRequest)]
            if asked:
                self.sends.remove(asked[0])
                return asked[0]
        return None

    def asks_within(self, duration_ms: int = 10_000) -> list[object]:
        asked = []
        end_ms = self.now_ms + duration_ms
        while (send := self.next_request(end_ms - self.now_ms)) is not None:
            asked.append(send.message)
        return asked


def test_a_newcomer_asks_once_each_fetch_time_out_until_it_votes() -> None:
    newcomer = Newcomer()
    newcomer.hear()
    assert newcomer.asks_within(6_050) == [ADD, ADD, ADD]
    newcomer.hear(VoterSet([*OTHERS, OWN]))
    assert newcomer.asks_within() == []


def test_a_newcomer_whose_log_is_replaced_asks_nothing_and_waits() -> None:
    """A time that is over would have the driver step again at once, until the snapshot is there."""
    newcomer, snapshot = Newcomer(), SnapshotId(120, 4)
    newcomer.hear()
    newcomer.now_ms = 1_500
    newcomer.answer(FetchResponse(epoch=5, leader_id=1, snapshot=snapshot))
    newcomer.answer(
        FetchSnapshotResponse(epoch=5, leader_id=1, id=snapshot, position=0, size=2, data=b"ab")
    )
    newcomer.now_ms = 2_100  # after the time to ask, still in touch with the leader
    newcomer.step(Tick())
    assert newcomer.sends == []
    assert newcomer.ready.deadline_ms > newcomer.now_ms


def test_a_removed_voter_does_not_come_back() -> None:
    """KAFKA-19850."""
    newcomer = Newcomer()
    newcomer.hear(VoterSet([*OTHERS, OWN]), VoterSet(OTHERS))
    assert newcomer.asks_within() == []


def test_a_removed_voter_does_not_come_back_after_a_restart_either() -> None:
    log = MemoryLog()
    log.entries = [
        (5, voters_record(VoterSet([*OTHERS, OWN]))),
        (5, voters_record(VoterSet(OTHERS))),
    ]
    log.synced = 2
    newcomer = Newcomer(log, log.history(VoterSet(OTHERS)))
    newcomer.hear()
    assert newcomer.asks_within() == []


def test_who_was_about_to_join_goes_on_after_a_restart() -> None:
    log = MemoryLog()
    log.entries = [(5, voters_record(VoterSet(OTHERS)))]
    log.synced = 1
    newcomer = Newcomer(log, log.history(VoterSet(OTHERS)))
    newcomer.hear()
    assert newcomer.asks_within(2_050) == [ADD]


def test_a_replica_whose_snapshot_has_forgotten_does_not_join() -> None:
    log = MemoryLog()
    log.entries = [(5, voters_record(VoterSet(OTHERS))), (5, "x")]
    log.synced = 2
    log.take_snapshot(2)
    newcomer = Newcomer(log, log.history(VoterSet(OTHERS)))
    newcomer.hear()
    assert newcomer.asks_within() == []


def test_a_static_voter_tells_itself_once_an_epoch() -> None:
    static = VoterSet(Voter(ReplicaKey(n), voter(n).endpoints) for n in (1, 2, 3))
    newcomer = Newcomer(history=VoterHistory(static))
    newcomer.hear()
    told = UpdateVoterRequest(epoch=5, voter=OWN)
    for error, asked_after in [(RequestTimedOut, [told]), (None, [])]:
        send = newcomer.next_request()
        assert send.message == told
        answer = VoterChangeResponse(epoch=5, leader_id=1, error=error)
        newcomer.step(InboundResponse(send, answer))
        assert newcomer.asks_within(2_050) == asked_after
