"""What other replicas of the metadata quorum are told on a controller's listener: the log, snapshots, votes, and why not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from millstream.clients.admin import Admin, NewTopic
from millstream.model import METADATA_TOPIC_ID, ZERO_UUID, Uuid
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import fetch, fetch_snapshot, vote
from millstream.protocol.generated.begin_quorum_epoch import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochRequestPartitionData,
    BeginQuorumEpochRequestTopicData,
)
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.end_quorum_epoch import (
    EndQuorumEpochRequest,
    EndQuorumEpochRequestPartitionData,
    EndQuorumEpochRequestTopicData,
)
from millstream.records.batch import iterate_batches
from tests.integration.broker.test_controller_listener import BOTH, asked, node
from tests.support.clients.raw_client import RawClient

METADATA = "__cluster_metadata"
FENCED, UNKNOWN_EPOCH, INVALID, OTHER_CLUSTER = 74, 75, 42, 104
SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE, INVALID_VOTER = 98, 99, 125
OBSERVER = Uuid(b"o" * 16)


def fetch_of(
    offset: int, last_epoch: int, epoch: int = 1, wait_ms: int = 0, **fields: Any
) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=0,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=1 << 20,
        replica_directory_id=OBSERVER,
        **fields,
    )
    return fetch.FetchRequest(
        replica_state=fetch.ReplicaState(9, -1),
        max_wait_ms=wait_ms,
        max_bytes=1 << 20,
        topics=[fetch.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])],
    )


def fetched(client: RawClient, request: fetch.FetchRequest) -> Any:
    response = client.ask(ApiKey.FETCH, 18, request)
    assert response.error_code == 0
    return response.responses[0].partitions[0]


async def test_an_observer_reads_the_whole_log_and_learns_who_leads_and_where(
    tmp_path: Path,
) -> None:
    async with node(tmp_path, BOTH) as at:

        def read(client: RawClient) -> None:
            first = client.ask(ApiKey.FETCH, 18, fetch_of(0, 0))
            (told,) = first.responses[0].partitions
            offsets = [
                header.base_offset for header, _ in iterate_batches(memoryview(told.records))
            ]
            assert offsets[0] == 0
            assert (told.current_leader.leader_id, told.current_leader.leader_epoch) == (1, 1)
            (leader,) = first.node_endpoints
            assert f"{leader.host}:{leader.port}" == at["CONTROLLER"]

        await asked(at["CONTROLLER"], read)


async def test_a_fetch_that_finds_nothing_waits_for_a_change_of_metadata(tmp_path: Path) -> None:
    async with node(tmp_path, BOTH) as at:
        end = (await asked(at["CONTROLLER"], lambda c: fetched(c, fetch_of(0, 0)))).high_watermark
        nothing = await asked(at["CONTROLLER"], lambda c: fetched(c, fetch_of(end, 1)))
        assert bytes(nothing.records or b"") == b""
        waiting = asyncio.create_task(
            asked(at["CONTROLLER"], lambda c: fetched(c, fetch_of(end, 1, wait_ms=60_000)))
        )
        request = CreateTopicsRequest(topics=[CreatableTopic("t", 1, 1)])
        await asked(at["PLAINTEXT"], lambda c: c.ask(ApiKey.CREATE_TOPICS, 7, request))
        found = await waiting
        while not found.records:  # half a second may pass before the topic is created
            found = await asked(
                at["CONTROLLER"], lambda c: fetched(c, fetch_of(end, 1, wait_ms=60_000))
            )
        assert next(iter(iterate_batches(memoryview(found.records))))[0].base_offset == end


async def test_one_that_knows_less_to_be_committed_than_it_has_is_told_at_once(
    tmp_path: Path,
) -> None:
    async with node(tmp_path, BOTH) as at:
        end = (await asked(at["CONTROLLER"], lambda c: fetched(c, fetch_of(0, 0)))).high_watermark
        request = fetch_of(end, 1, wait_ms=60_000, high_watermark=end - 1)
        told = await asked(at["CONTROLLER"], lambda c: fetched(c, request))
        assert (told.high_watermark, bytes(told.records or b"")) == (end, b"")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (fetch_of(0, 0, epoch=0), FENCED),
        (fetch_of(0, 0, epoch=7), UNKNOWN_EPOCH),
    ],
)
async def test_a_fetch_of_another_epoch_is_refused_and_told_the_leader(
    tmp_path: Path, request_: fetch.FetchRequest, code: int
) -> None:
    async with node(tmp_path, BOTH) as at:
        told = await asked(at["CONTROLLER"], lambda c: fetched(c, request_))
        assert (told.error_code, told.current_leader.leader_id) == (code, 1)


async def test_logs_that_part_are_told_where(tmp_path: Path) -> None:
    async with node(tmp_path, BOTH) as at:
        end = (await asked(at["CONTROLLER"], lambda c: fetched(c, fetch_of(0, 0)))).high_watermark
        told = await asked(at["CONTROLLER"], lambda c: fetched(c, fetch_of(1_000, 1)))
        assert told.error_code == 0
        assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == (1, end)
        assert not told.records


def voting(
    epoch: int, voter_id: int = 1, directory: Uuid = ZERO_UUID, cluster: str | None = None
) -> vote.VoteRequest:
    partition = vote.VoteRequestPartitionData(
        replica_epoch=epoch, replica_id=9, replica_directory_id=OBSERVER,
        voter_directory_id=directory, last_offset_epoch=0, last_offset=0, pre_vote=True,
    )  # fmt: skip
    topic = vote.VoteRequestTopicData(METADATA, [partition])
    return vote.VoteRequest(cluster_id=cluster, voter_id=voter_id, topics=[topic])


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (voting(1, directory=OBSERVER), INVALID_VOTER),
        (voting(1, voter_id=5), INVALID_VOTER),
        (voting(0), FENCED),
    ],
    ids=["another directory", "another id", "an epoch that is over"],
)
async def test_a_vote_that_is_none_of_this_voters_is_refused(
    tmp_path: Path, request_: vote.VoteRequest, code: int
) -> None:
    async with node(tmp_path, BOTH) as at:
        answer = await asked(at["CONTROLLER"], lambda c: c.ask(ApiKey.VOTE, 2, request_))
        (partition,) = answer.topics[0].partitions
        assert (partition.error_code, partition.vote_granted) == (code, False)


@pytest.mark.parametrize("epoch", [1, 9], ids=["this epoch", "a later one"])
async def test_whoever_asks_for_votes_a_controller_that_can_lead_goes_on(
    tmp_path: Path, epoch: int
) -> None:
    """A later epoch ends the present one: the controller leads again above it, and asks nobody to come back."""
    async with node(tmp_path, BOTH) as at:
        answer = await asked(at["CONTROLLER"], lambda c: c.ask(ApiKey.VOTE, 2, voting(epoch)))
        (partition,) = answer.topics[0].partitions
        assert not (partition.vote_granted and epoch == 1)
        async with Admin(bootstrap_servers=at["PLAINTEXT"]) as admin:
            (await admin.create_topics([NewTopic("t", 1)])).raise_errors()
            quorum = await admin.describe_metadata_quorum()
        assert quorum.leader_id == 1
        assert quorum.leader_epoch == 1 if epoch == 1 else quorum.leader_epoch > epoch


def begin(epoch: int, leader_id: int) -> BeginQuorumEpochRequest:
    partition = BeginQuorumEpochRequestPartitionData(leader_id=leader_id, leader_epoch=epoch)
    topic = BeginQuorumEpochRequestTopicData(METADATA, [partition])
    return BeginQuorumEpochRequest(voter_id=1, topics=[topic])


def end(epoch: int, leader_id: int) -> EndQuorumEpochRequest:
    partition = EndQuorumEpochRequestPartitionData(leader_id=leader_id, leader_epoch=epoch)
    return EndQuorumEpochRequest(topics=[EndQuorumEpochRequestTopicData(METADATA, [partition])])


async def test_a_leader_of_an_epoch_that_is_over_is_told_so(tmp_path: Path) -> None:
    async with node(tmp_path, BOTH) as at:
        for key, request in (
            (ApiKey.BEGIN_QUORUM_EPOCH, begin(0, 9)),
            (ApiKey.END_QUORUM_EPOCH, end(0, 9)),
        ):
            answer = await asked(at["CONTROLLER"], lambda c, k=key, r=request: c.ask(k, 1, r))
            (partition,) = answer.topics[0].partitions
            assert (partition.error_code, partition.leader_id) == (FENCED, 1)


def snapshot_of(end_offset: int, epoch: int = 1, position: int = 0) -> Any:
    partition = fetch_snapshot.FetchSnapshotRequestPartitionSnapshot(
        partition=0,
        current_leader_epoch=1,
        snapshot_id=fetch_snapshot.SnapshotId(end_offset, epoch),
        position=position,
    )
    topic = fetch_snapshot.FetchSnapshotRequestTopicSnapshot(METADATA, [partition])
    return fetch_snapshot.FetchSnapshotRequest(replica_id=9, max_bytes=1 << 20, topics=[topic])


async def test_a_snapshot_is_read_in_pieces(tmp_path: Path) -> None:
    settings = {**BOTH, "metadata.log.max.record.bytes.between.snapshots": "1"}
    async with node(tmp_path, settings) as at:
        request = CreateTopicsRequest(topics=[CreatableTopic("t", 1, 1)])
        await asked(at["PLAINTEXT"], lambda c: c.ask(ApiKey.CREATE_TOPICS, 7, request))
        files: list[Path] = []
        while not files:
            files = sorted((tmp_path / "__cluster_metadata-0").glob("*.checkpoint"))
            await asyncio.sleep(0.01)
        offset, epoch = (int(part) for part in files[0].stem.split("-"))
        whole = files[0].read_bytes()

        def read(client: RawClient) -> bytes:
            found = b""
            while len(found) < len(whole):
                asked_for = snapshot_of(offset, epoch, position=len(found))
                asked_for.max_bytes = 100
                answer = client.ask(ApiKey.FETCH_SNAPSHOT, 1, asked_for)
                (piece,) = answer.topics[0].partitions
                assert (piece.error_code, piece.size, piece.position) == (0, len(whole), len(found))
                found += bytes(piece.unaligned_records)
            return found

        assert await asked(at["CONTROLLER"], read) == whole
        for request_, code in (
            (snapshot_of(offset + 1_000), SNAPSHOT_NOT_FOUND),
            (snapshot_of(offset, epoch, position=len(whole)), POSITION_OUT_OF_RANGE),
            (snapshot_of(offset, epoch, position=-1), POSITION_OUT_OF_RANGE),
        ):
            answer = await asked(
                at["CONTROLLER"], lambda c, r=request_: c.ask(ApiKey.FETCH_SNAPSHOT, 1, r)
            )
            assert answer.topics[0].partitions[0].error_code == code


def several(request: fetch.FetchRequest) -> fetch.FetchRequest:
    request.topics[0].partitions.append(fetch.FetchPartition(partition=1))
    return request


def of_cluster(request: Any, cluster: str) -> Any:
    request.cluster_id = cluster
    return request


@pytest.mark.parametrize(
    ("key", "version", "request_", "code"),
    [
        (ApiKey.FETCH, 18, of_cluster(fetch_of(0, 0), "other"), OTHER_CLUSTER),
        (ApiKey.FETCH, 18, several(fetch_of(0, 0)), INVALID),
        (ApiKey.FETCH, 18, fetch_of(-1, 0), INVALID),
        (ApiKey.FETCH, 18, fetch_of(0, -1), INVALID),
        (ApiKey.FETCH, 18, fetch.FetchRequest(topics=[]), INVALID),
        (ApiKey.FETCH_SNAPSHOT, 1, of_cluster(snapshot_of(1), "other"), OTHER_CLUSTER),
        (ApiKey.FETCH_SNAPSHOT, 1, fetch_snapshot.FetchSnapshotRequest(topics=[]), INVALID),
        (ApiKey.VOTE, 2, voting(1, cluster="other"), OTHER_CLUSTER),
        (ApiKey.VOTE, 2, vote.VoteRequest(topics=[]), INVALID),
        (ApiKey.VOTE, 2, voting(-1), INVALID),
        (ApiKey.BEGIN_QUORUM_EPOCH, 1, of_cluster(begin(1, 9), "other"), OTHER_CLUSTER),
        (ApiKey.BEGIN_QUORUM_EPOCH, 1, BeginQuorumEpochRequest(topics=[]), INVALID),
        (ApiKey.END_QUORUM_EPOCH, 1, of_cluster(end(1, 9), "other"), OTHER_CLUSTER),
        (ApiKey.END_QUORUM_EPOCH, 1, EndQuorumEpochRequest(topics=[]), INVALID),
    ],
    ids=lambda given: given.name if isinstance(given, ApiKey) else None,
)  # fmt: skip
async def test_what_no_replica_of_this_cluster_would_ask_is_refused_as_a_whole(
    tmp_path: Path, key: ApiKey, version: int, request_: Any, code: int
) -> None:
    async with node(tmp_path, BOTH) as at:
        answer = await asked(at["CONTROLLER"], lambda c: c.ask(key, version, request_))
        assert answer.error_code == code
