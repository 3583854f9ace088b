"""The log of elections: one line for each change, however often somebody tries."""

from __future__ import annotations

import logging

import pytest

from millstream.broker.metadata_log.election_log import ElectionLog
from millstream.model import BrokerId, LeaderEpoch, Offset
from millstream.raft.election_state import ElectionState
from millstream.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    InboundRequest,
    InboundResponse,
    LogPosition,
    RaftEvent,
    Send,
    Tick,
    VoteRequest,
)
from millstream.raft.ready import Ready
from millstream.raft.voter_set import ReplicaKey
from tests.unit.raft.replicas import KEYS, StubLog, at, replica

OWN = LogPosition(Offset(10), LeaderEpoch(4))


class World:
    """Node 1 of three, which follows node 2 in epoch 4, with its log."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self._caplog = caplog
        self._replica = replica(
            stored=ElectionState(LeaderEpoch(4), BrokerId(2)), log=StubLog(10, 4)
        )
        self._log = ElectionLog(self._replica, at(0))
        self._sent: Ready
        self._fetches: list[Send] = []

    def step(self, event: RaftEvent, now_ms: int) -> list[str]:
        """Returns the lines that the step was worth."""
        self._caplog.clear()
        self._sent = self._replica.step(event, at(now_ms))
        self._fetches += [
            each for each in self._sent.send if isinstance(each.message, FetchRequest)
        ]
        self._log.note(self._sent, at(now_ms))
        return [record.getMessage() for record in self._caplog.records]

    def fetch(self, now_ms: int) -> list[str]:
        """The leader answers the fetch that is on its way."""
        sent = self._fetches[-1]
        response = FetchResponse(
            epoch=LeaderEpoch(4), leader_id=BrokerId(2), high_watermark=Offset(10)
        )
        return self.step(InboundResponse(sent, response), now_ms)


@pytest.fixture
def world(caplog: pytest.LogCaptureFixture) -> World:
    return World(caplog)


def test_a_leader_that_is_found_is_told_once(world: World) -> None:
    assert world.step(Tick(), 0) == []
    assert world.fetch(1_500) == [
        "metadata quorum: node 2 leads epoch 4; there was no controller for 1.5 s"
    ]
    assert world.step(Tick(), 1_600) == []


def test_a_quorum_without_a_majority_is_told_once_and_not_again_with_each_try(world: World) -> None:
    lines: list[str] = []
    for now_ms in range(2_000, 60_000, 100):
        lines += world.step(Tick(), now_ms)
    assert (
        lines[0]
        == "metadata quorum: node 1 is Prospective in epoch 4, leader 2: 2 did not answer for 2000 ms"
    )
    assert sum("no controller since 1970-01-01T00:00:00Z" in line for line in lines) == 1
    assert len(lines) == len(set(lines))
    assert len(lines) < 8, lines


def test_votes_are_told_with_the_reason_and_not_with_each_request(world: World) -> None:
    world.step(Tick(), 0)
    world.fetch(10)
    asked = VoteRequest(source=KEYS[2], epoch=LeaderEpoch(4), log=OWN, voter=KEYS[0], pre_vote=True)
    (line,) = world.step(InboundRequest(1, asked), 100)
    assert (
        line
        == "metadata quorum: node 1 refuses node 3 its pre-vote in epoch 4: node 2 leads and answers"
    )
    assert world.step(InboundRequest(2, asked), 200) == []
    vote = VoteRequest(source=KEYS[2], epoch=LeaderEpoch(5), log=OWN, voter=KEYS[0])
    lines = world.step(InboundRequest(3, vote), 300)
    assert "metadata quorum: node 1 gives node 3 its vote in epoch 5" in lines
    assert any("it votes for 3" in line for line in lines)


def test_a_candidate_with_a_shorter_log_is_told_where_both_end(world: World) -> None:
    short = LogPosition(Offset(8), LeaderEpoch(4))
    asked = VoteRequest(source=KEYS[2], epoch=LeaderEpoch(5), log=short, voter=KEYS[0])
    lines = world.step(InboundRequest(1, asked), 100)
    assert (
        "metadata quorum: node 1 refuses node 3 its vote in epoch 5: its log ends at offset 8 of epoch 4, this one at offset 10 of epoch 4"
        in lines
    )


def test_a_candidate_of_an_epoch_that_is_over_is_told_so(world: World) -> None:
    asked = VoteRequest(
        source=KEYS[2],
        epoch=LeaderEpoch(3),
        log=LogPosition(Offset(8), LeaderEpoch(2)),
        voter=KEYS[0],
    )
    (line,) = world.step(InboundRequest(1, asked), 100)
    assert line.endswith("its vote in epoch 3: FENCED_LEADER_EPOCH, this node is in epoch 4")


def test_a_leader_that_comes_back_was_away_since_its_last_answer(world: World) -> None:
    world.step(Tick(), 0)
    world.fetch(100)
    lines = world.step(Tick(), 2_100) + world.step(Tick(), 10_200)
    assert (
        "metadata quorum: no controller since 1970-01-01T00:00:00Z: node 2, which leads epoch 4, does not answer"
        in lines
    )
    begin = BeginQuorumEpochRequest(source=BrokerId(2), epoch=LeaderEpoch(4), voter=KEYS[0])
    world.step(InboundRequest(1, begin), 11_000)
    assert world.fetch(11_100)[-1] == (
        "metadata quorum: node 2 leads epoch 4; there was no controller for 11.0 s"
    )


def test_a_stranger_that_asks_in_the_name_of_many_does_not_fill_the_log(world: World) -> None:
    world.step(Tick(), 0)
    lines: list[str] = []
    for number in range(10, 1_000):
        source = ReplicaKey(BrokerId(number))
        asked = VoteRequest(source=source, epoch=LeaderEpoch(4), log=OWN, voter=KEYS[0])
        lines += world.step(InboundRequest(number, asked), 100)
    assert len(lines) == 50
