"""Fetch and FetchSnapshot of the metadata log: their requests as raft takes them, and raft's answers as messages."""

from __future__ import annotations

from millstream.broker.metadata_log.wire.partition import (
    METADATA_PARTITION_INDEX,
    check_not_negative,
    code_of,
    endpoint_on,
    position_of,
)
from millstream.errors import InvalidRequest
from millstream.metadata.topic_names import CLUSTER_METADATA_TOPIC
from millstream.model import METADATA_TOPIC_ID, BrokerId, LeaderEpoch, Offset, Uuid
from millstream.protocol.generated import fetch
from millstream.protocol.generated import fetch_snapshot as snapshot
from millstream.raft import messages as raft
from millstream.raft.snapshot import SnapshotId
from millstream.raft.voter_set import ReplicaKey

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
