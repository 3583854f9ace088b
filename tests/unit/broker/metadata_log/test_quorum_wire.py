"""Requests of the quorum keep their meaning on the wire, in both directions."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.broker.metadata_log.wire import elections, fetches
from millstream.errors import (
    CorruptMessage,
    FencedLeaderEpoch,
    InconsistentClusterId,
    InvalidRequest,
    NotLeaderOrFollower,
)
from millstream.model import BrokerId, LeaderEpoch, Offset, Uuid
from millstream.protocol.api import ApiKey, request_class, response_class
from millstream.raft import messages as raft
from millstream.raft.messages import LogPosition
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import ReplicaKey, VoterEndpoint
from millstream.records.builder import build_batch
from millstream.records.record import Record

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"
LISTENER = "CONTROLLER"
ME = ReplicaKey(BrokerId(1), Uuid(b"1" * 16))
OTHER = ReplicaKey(BrokerId(2), Uuid(b"2" * 16))
AT = (VoterEndpoint(LISTENER, "h", 9093),)
EMPTY = LogPosition(Offset(0), LeaderEpoch(-1))
LONG = LogPosition(Offset(30), LeaderEpoch(4))
EPOCH = LeaderEpoch(5)


def over_the_wire(kind: type, message: Any, version: int) -> Any:
    out = bytearray()
    message.encode(out, version)
    return kind.decode(memoryview(bytes(out)), 0, version)[0]


def asked(key: ApiKey, message: Any, version: int) -> Any:
    return over_the_wire(request_class(key), message, version)


def answered(key: ApiKey, message: Any, version: int) -> Any:
    return over_the_wire(response_class(key), message, version)


@pytest.mark.parametrize("log", [EMPTY, LONG], ids=["an empty log", "a long log"])
@pytest.mark.parametrize("pre_vote", [False, True])
def test_a_vote(log: LogPosition, *, pre_vote: bool) -> None:
    request = raft.VoteRequest(source=ME, epoch=EPOCH, log=log, voter=OTHER, pre_vote=pre_vote)
    sent = asked(ApiKey.VOTE, elections.vote_message(request, CLUSTER), 2)
    assert sent.cluster_id == CLUSTER
    assert elections.vote_request(sent, OTHER.id) == request


@pytest.mark.parametrize(
    "answer",
    [
        raft.VoteResponse(epoch=EPOCH, granted=True),
        raft.VoteResponse(epoch=EPOCH, leader_id=ME.id, endpoints=AT, error=FencedLeaderEpoch),
    ],
)
def test_the_answer_to_a_vote(answer: raft.VoteResponse) -> None:
    told = answered(ApiKey.VOTE, elections.vote_response(answer, LISTENER), 2)
    assert elections.vote_answer(told, LISTENER) == answer


def test_the_beginning_of_an_epoch() -> None:
    request = raft.BeginQuorumEpochRequest(source=ME.id, epoch=EPOCH, endpoints=AT, voter=OTHER)
    sent = asked(ApiKey.BEGIN_QUORUM_EPOCH, elections.begin_message(request, CLUSTER), 1)
    assert elections.begin_request(sent, OTHER.id) == request
    answer = raft.BeginQuorumEpochResponse(epoch=EPOCH, leader_id=ME.id, endpoints=AT)
    told = answered(ApiKey.BEGIN_QUORUM_EPOCH, elections.begin_response(answer, LISTENER), 1)
    assert elections.begin_answer(told, LISTENER) == answer


def test_the_end_of_an_epoch() -> None:
    request = raft.EndQuorumEpochRequest(
        source=ME.id, epoch=EPOCH, preferred_successors=(OTHER, ME), endpoints=AT
    )
    sent = asked(ApiKey.END_QUORUM_EPOCH, elections.end_message(request, CLUSTER), 1)
    assert elections.end_request(sent) == request
    answer = raft.EndQuorumEpochResponse(epoch=EPOCH, leader_id=ME.id, endpoints=AT)
    told = answered(ApiKey.END_QUORUM_EPOCH, elections.end_response(answer, LISTENER), 1)
    assert elections.end_answer(told, LISTENER) == answer


@pytest.mark.parametrize("log", [EMPTY, LONG], ids=["an empty log", "a long log"])
def test_a_fetch(log: LogPosition) -> None:
    request = raft.FetchRequest(source=ME, epoch=EPOCH, log=log, high_watermark=Offset(7))
    sent = asked(ApiKey.FETCH, fetches.fetch_message(request, CLUSTER, 500, 1 << 20), 18)
    assert (sent.cluster_id, sent.max_wait_ms) == (CLUSTER, 500)
    assert fetches.fetch_request(sent, 18) == request


RECORDS = bytes(build_batch([Record(timestamp=1, value=b"v")]))


@pytest.mark.parametrize(
    "answer",
    [
        raft.FetchResponse(epoch=EPOCH, leader_id=ME.id, endpoints=AT, high_watermark=Offset(9)),
        raft.FetchResponse(
            epoch=EPOCH, leader_id=ME.id, endpoints=AT, high_watermark=Offset(9), records=RECORDS
        ),
        raft.FetchResponse(epoch=EPOCH, leader_id=ME.id, endpoints=AT, diverging=LONG),
        raft.FetchResponse(
            epoch=EPOCH,
            leader_id=ME.id,
            endpoints=AT,
            snapshot=SnapshotId(Offset(12), LeaderEpoch(3)),
        ),
        raft.FetchResponse(epoch=EPOCH, error=NotLeaderOrFollower),
    ],
    ids=["nothing new", "records", "logs that part", "a snapshot", "not the leader"],
)
def test_the_answer_to_a_fetch(answer: raft.FetchResponse) -> None:
    told = answered(ApiKey.FETCH, fetches.fetch_response(answer, LISTENER, 18, 0), 18)
    assert fetches.fetch_answer(told, LISTENER) == answer


def test_records_that_are_damaged_on_their_way_are_no_answer() -> None:
    damaged = bytearray(RECORDS)
    damaged[-1] ^= 1
    answer = raft.FetchResponse(epoch=EPOCH, leader_id=ME.id, records=bytes(damaged))
    told = answered(ApiKey.FETCH, fetches.fetch_response(answer, LISTENER, 18, 0), 18)
    with pytest.raises(CorruptMessage):
        fetches.fetch_answer(told, LISTENER)


def test_a_piece_of_a_snapshot() -> None:
    wanted = SnapshotId(Offset(12), LeaderEpoch(3))
    request = raft.FetchSnapshotRequest(source=ME, epoch=EPOCH, id=wanted, position=100)
    message = fetches.fetch_snapshot_message(request, CLUSTER, 1 << 20)
    sent = asked(ApiKey.FETCH_SNAPSHOT, message, 1)
    assert fetches.fetch_snapshot_request(sent) == request
    answer = raft.FetchSnapshotResponse(
        epoch=EPOCH, leader_id=ME.id, endpoints=AT, id=wanted, position=100, size=105, data=b"12345"
    )
    told = answered(ApiKey.FETCH_SNAPSHOT, fetches.fetch_snapshot_response(answer, LISTENER), 1)
    assert fetches.fetch_snapshot_answer(told, LISTENER) == answer


def test_a_request_that_is_refused_as_a_whole_is_no_answer() -> None:
    response = response_class(ApiKey.VOTE)()
    response.error_code = InconsistentClusterId.code  # type: ignore[attr-defined]  # Vote's has one
    with pytest.raises(InconsistentClusterId):
        elections.vote_answer(response, LISTENER)  # type: ignore[arg-type]  # it is Vote's
    with pytest.raises(InvalidRequest):
        elections.vote_answer(response_class(ApiKey.VOTE)(), LISTENER)  # type: ignore[arg-type]  # it is Vote's
