"""Fetch and FetchSnapshot of the metadata log between raft's values and Kafka's messages."""

from __future__ import annotations

from typing import Final, cast

from millstream.broker.metadata_log.wire.partition import (
    METADATA_PARTITION_INDEX,
    check_not_negative,
    check_whole,
    code_of,
    endpoint_on,
    epoch_on_the_wire,
    position_of,
    refusal_of,
    told_endpoints,
)
from millstream.errors import InvalidRequest
from millstream.metadata.topic_names import CLUSTER_METADATA_TOPIC
from millstream.model import METADATA_TOPIC_ID, BrokerId, LeaderEpoch, Offset, Uuid
from millstream.protocol.generated import fetch
from millstream.protocol.generated import fetch_snapshot as snapshot
from millstream.raft import messages as raft
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import ReplicaKey
from millstream.records.batch import iterate_batches, validate_batch

FETCH_WAIT_MAX_MS: Final = 500
"""Kafka's MAX_FETCH_WAIT_MS: a leader hears of its followers at least so often, which check-quorum rests on."""
_KNOWS_REPLICA_STATE = 15
_KNOWS_TOPIC_IDS = 13


def fetched_partition(request: fetch.FetchRequest, version: int) -> fetch.FetchPartition:
    """Returns what is asked of the metadata partition. Raises InvalidRequest unless that is all that is asked."""
    if len(request.topics) == 1 and len(request.topics[0].partitions) == 1:
        (topic,) = request.topics
        by_id = version >= _KNOWS_TOPIC_IDS
        is_metadata = (
            topic.topic_id == METADATA_TOPIC_ID if by_id else topic.topic == CLUSTER_METADATA_TOPIC
        )
        if is_metadata and topic.partitions[0].partition == METADATA_PARTITION_INDEX:
            return topic.partitions[0]
    raise InvalidRequest(
        f"a controller is fetched partition 0 of {CLUSTER_METADATA_TOPIC} from, and nothing else"
    )


def fetch_request(request: fetch.FetchRequest, version: int) -> raft.FetchRequest:
    """Raises InvalidRequest. Consumers that fetch have no replica id."""
    asked = fetched_partition(request, version)
    check_not_negative(
        max_wait_ms=request.max_wait_ms,
        fetch_offset=asked.fetch_offset,
        last_fetched_epoch=asked.last_fetched_epoch,
        current_leader_epoch=asked.current_leader_epoch,
    )
    source = (
        request.replica_state.replica_id if version >= _KNOWS_REPLICA_STATE else request.replica_id
    )
    return raft.FetchRequest(
        source=ReplicaKey(BrokerId(source), Uuid(asked.replica_directory_id)),
        epoch=LeaderEpoch(asked.current_leader_epoch),
        log=position_of(asked.fetch_offset, asked.last_fetched_epoch),
        high_watermark=Offset(asked.high_watermark),
    )


def fetch_response(
    answer: raft.FetchResponse, listener: str, version: int, log_start_offset: int
) -> fetch.FetchResponse:
    high_watermark = -1 if answer.high_watermark is None else answer.high_watermark
    partition = fetch.PartitionData(
        partition_index=METADATA_PARTITION_INDEX,
        error_code=code_of(answer.error),
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        log_start_offset=log_start_offset,
        current_leader=fetch.LeaderIdAndEpoch(answer.leader_id, answer.epoch),
        records=answer.records,
    )
    if answer.diverging is not None:
        partition.diverging_epoch = fetch.EpochEndOffset(
            answer.diverging.last_epoch, answer.diverging.end_offset
        )
    if answer.snapshot is not None:
        partition.snapshot_id = fetch.SnapshotId(answer.snapshot.end_offset, answer.snapshot.epoch)
    address = endpoint_on(answer.endpoints, listener)
    by_id = version >= _KNOWS_TOPIC_IDS
    return fetch.FetchResponse(
        responses=[
            fetch.FetchableTopicResponse(
                topic="" if by_id else CLUSTER_METADATA_TOPIC,
                topic_id=METADATA_TOPIC_ID,
                partitions=[partition],
            )
        ],
        node_endpoints=[]
        if address is None
        else [fetch.NodeEndpoint(answer.leader_id, address.host, address.port)],
    )


def fetch_snapshot_request(request: snapshot.FetchSnapshotRequest) -> raft.FetchSnapshotRequest:
    """Raises InvalidRequest."""
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        raise InvalidRequest("a snapshot is fetched of one partition at a time")
    (topic,) = request.topics
    (asked,) = topic.partitions
    if topic.name != CLUSTER_METADATA_TOPIC or asked.partition != METADATA_PARTITION_INDEX:
        raise InvalidRequest(f"only partition 0 of {CLUSTER_METADATA_TOPIC} has snapshots")
    check_not_negative(max_bytes=request.max_bytes, current_leader_epoch=asked.current_leader_epoch)
    wanted = asked.snapshot_id
    return raft.FetchSnapshotRequest(
        source=ReplicaKey(BrokerId(request.replica_id), Uuid(asked.replica_directory_id)),
        epoch=LeaderEpoch(asked.current_leader_epoch),
        id=SnapshotId(Offset(wanted.end_offset), LeaderEpoch(wanted.epoch)),
        position=asked.position,
    )


def fetch_snapshot_response(
    answer: raft.FetchSnapshotResponse, listener: str
) -> snapshot.FetchSnapshotResponse:
    partition = snapshot.FetchSnapshotResponsePartitionSnapshot(
        index=METADATA_PARTITION_INDEX,
        error_code=code_of(answer.error),
        snapshot_id=snapshot.SnapshotId(answer.id.end_offset, answer.id.epoch),
        current_leader=snapshot.LeaderIdAndEpoch(answer.leader_id, answer.epoch),
        size=answer.size,
        position=answer.position,
        unaligned_records=answer.data,
    )
    address = endpoint_on(answer.endpoints, listener)
    return snapshot.FetchSnapshotResponse(
        topics=[snapshot.FetchSnapshotResponseTopicSnapshot(CLUSTER_METADATA_TOPIC, [partition])],
        node_endpoints=[]
        if address is None
        else [snapshot.NodeEndpoint(answer.leader_id, address.host, address.port)],
    )


# The other direction: requests that this replica sends, and their answers.


def fetch_message(
    request: raft.FetchRequest, cluster_id: str, wait_ms: int, bytes_max: int
) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=METADATA_PARTITION_INDEX,
        current_leader_epoch=request.epoch,
        fetch_offset=request.log.end_offset,
        last_fetched_epoch=epoch_on_the_wire(request.log),
        partition_max_bytes=bytes_max,
        replica_directory_id=request.source.directory_id,
        high_watermark=request.high_watermark,
    )
    topic = fetch.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=[partition])
    return fetch.FetchRequest(
        cluster_id=cluster_id,
        replica_state=fetch.ReplicaState(request.source.id),
        max_wait_ms=wait_ms,
        min_bytes=0,
        max_bytes=bytes_max,
        topics=[topic],
    )


def fetch_answer(response: fetch.FetchResponse, listener: str) -> raft.FetchResponse:
    """Raises KafkaError for one that refuses the whole request, CorruptMessage for records that are damaged."""
    check_whole(response.error_code)
    if len(response.responses) != 1 or len(response.responses[0].partitions) != 1:
        raise InvalidRequest("an answer to a fetch of the metadata log is about something else")
    (told,) = response.responses[0].partitions
    leader, diverging, snapshot_id = told.current_leader, told.diverging_epoch, told.snapshot_id
    records = bytes(cast("memoryview", told.records or b""))
    for header, batch in iterate_batches(memoryview(records)):
        validate_batch(header, batch)
    return raft.FetchResponse(
        epoch=LeaderEpoch(leader.leader_epoch),
        leader_id=BrokerId(leader.leader_id),
        endpoints=told_endpoints(response.node_endpoints, leader.leader_id, listener),
        error=refusal_of(told.error_code),
        high_watermark=Offset(told.high_watermark) if told.high_watermark >= 0 else None,
        diverging=position_of(diverging.end_offset, diverging.epoch)
        if diverging.epoch >= 0
        else None,
        snapshot=SnapshotId(Offset(snapshot_id.end_offset), LeaderEpoch(snapshot_id.epoch))
        if snapshot_id.epoch >= 0
        else None,
        records=records,
    )


def fetch_snapshot_message(
    request: raft.FetchSnapshotRequest, cluster_id: str, bytes_max: int
) -> snapshot.FetchSnapshotRequest:
    partition = snapshot.FetchSnapshotRequestPartitionSnapshot(
        partition=METADATA_PARTITION_INDEX,
        current_leader_epoch=request.epoch,
        snapshot_id=snapshot.SnapshotId(request.id.end_offset, request.id.epoch),
        position=request.position,
        replica_directory_id=request.source.directory_id,
    )
    topic = snapshot.FetchSnapshotRequestTopicSnapshot(CLUSTER_METADATA_TOPIC, [partition])
    return snapshot.FetchSnapshotRequest(
        cluster_id=cluster_id, replica_id=request.source.id, max_bytes=bytes_max, topics=[topic]
    )


def fetch_snapshot_answer(
    response: snapshot.FetchSnapshotResponse, listener: str
) -> raft.FetchSnapshotResponse:
    """Raises KafkaError for one that refuses the whole request."""
    check_whole(response.error_code)
    if len(response.topics) != 1 or len(response.topics[0].partitions) != 1:
        raise InvalidRequest("an answer to a fetch of a snapshot is about something else")
    (told,) = response.topics[0].partitions
    leader, found = told.current_leader, told.snapshot_id
    return raft.FetchSnapshotResponse(
        epoch=LeaderEpoch(leader.leader_epoch),
        leader_id=BrokerId(leader.leader_id),
        endpoints=told_endpoints(response.node_endpoints, leader.leader_id, listener),
        error=refusal_of(told.error_code),
        id=SnapshotId(Offset(found.end_offset), LeaderEpoch(found.epoch)),
        position=told.position,
        size=told.size,
        data=bytes(cast("memoryview", told.unaligned_records or b"")),
    )
