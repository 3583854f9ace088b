"""Admin: nodes, features, the quorum, replicas and log directories.

One node only: a voter cannot be added to the quorum nor taken out of it, replicas cannot move to another broker, and a
broker in use cannot be unregistered. Those calls show here that they arrive and how they are refused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from millstream.clients import Admin, NewTopic, TopicPartition
from millstream.clients.admin import (
    ElectionType,
    FeatureUpdate,
    Operation,
    RaftVoterEndpoint,
    ReplicaLogDirs,
    TopicPartitionReplica,
    UpgradeType,
)
from millstream.errors import (
    BrokerIdNotRegistered,
    ElectionNotNeeded,
    InvalidReplicaAssignment,
    KafkaError,
    LogDirNotFound,
    NetworkException,
    NoReassignmentInProgress,
    ReplicaNotAvailable,
    RequestTimedOut,
    UnknownTopicOrPartition,
)
from millstream.model import Uuid
from millstream.net.client.core.addresses import Address
from millstream.protocol.api import ApiKey
from tests.patience import LONG_ENOUGH_MS, eventually

NewName = Callable[[], str]


@pytest.fixture
async def admin(bootstrap: str) -> AsyncIterator[Admin]:
    async with Admin(bootstrap_servers=bootstrap) as client:
        yield client


@pytest.fixture
async def partition(admin: Admin, new_topic: NewName) -> TopicPartition:
    name = new_topic()
    (await admin.create_topics([NewTopic(name, 1)])).raise_errors()

    async def is_there() -> bool:
        return not (await admin.describe_topics([name])).errors()

    await eventually(is_there)
    return TopicPartition(name, 0)


async def node_id(admin: Admin) -> int:
    (node,) = (await admin.describe_cluster()).nodes
    return node.node_id


async def test_the_cluster_is_described(admin: Admin, bootstrap: str) -> None:
    plain = await admin.describe_cluster()
    assert plain.authorized_operations is None
    full = await admin.describe_cluster(
        include_authorized_operations=True, include_fenced_brokers=True
    )
    assert (full.cluster_id, full.controller_id) == (plain.cluster_id, plain.controller_id)
    assert [str(node.address) for node in full.nodes] == [bootstrap]
    assert full.fenced_broker_ids == frozenset()
    assert full.authorized_operations is not None
    assert {Operation.CREATE, Operation.ALTER} <= full.authorized_operations


async def test_features_are_described(admin: Admin) -> None:
    features = await admin.describe_features()
    version = features.finalized["metadata.version"]
    supported = features.supported["metadata.version"]
    assert supported.lowest <= version.highest <= supported.highest
    assert features.finalized_epoch >= 0
    same = await admin.describe_features(node_id=await node_id(admin))
    assert (same.finalized, same.supported) == (features.finalized, features.supported)
    assert same.finalized_epoch >= features.finalized_epoch


async def test_versions_of_apis_are_described(admin: Admin) -> None:
    (here,) = await admin.describe_api_versions()
    assert here == await node_id(admin)
    found = (await admin.describe_api_versions([here])).result(here)
    assert 13 in found[ApiKey.PRODUCE]
    assert found[ApiKey.METADATA].start == 0


async def test_features_are_updated_all_or_none(admin: Admin) -> None:
    features = await admin.describe_features()
    level = features.finalized["metadata.version"].highest
    same = {"metadata.version": FeatureUpdate(level)}
    (await admin.update_features(same, validate_only=True)).raise_errors()
    beyond = {"metadata.version": FeatureUpdate(level + 1000), "no.such": FeatureUpdate(1)}
    refused = await admin.update_features(beyond, validate_only=True)
    assert all(isinstance(refused[name], KafkaError) for name in beyond)
    downgrade = {"metadata.version": FeatureUpdate(1, UpgradeType.SAFE_DOWNGRADE)}
    assert (await admin.update_features(downgrade, validate_only=True)).errors()
    assert (await admin.describe_features()).finalized == features.finalized


async def test_the_quorum_is_described(admin: Admin) -> None:
    quorum = await admin.describe_metadata_quorum()
    (voter,) = quorum.voters
    assert voter.replica_id == quorum.leader_id
    assert quorum.observers == []
    assert voter.log_end_offset >= quorum.high_watermark > 0
    assert quorum.leader_epoch > 0
    assert list(quorum.nodes) == [voter.replica_id]


async def test_a_voter_that_is_not_there_is_refused(admin: Admin) -> None:
    nobody = Uuid(bytes(15) + b"\x09")
    listener = RaftVoterEndpoint("CONTROLLER", Address("127.0.0.1", 9))
    with pytest.raises(KafkaError) as adding:
        await admin.add_raft_voter(77, nobody, [listener], timeout_ms=LONG_ENOUGH_MS)
    assert adding.value.name in {"UNSUPPORTED_VERSION", "REQUEST_TIMED_OUT", "INVALID_REQUEST"}
    with pytest.raises(KafkaError) as removing:
        await admin.remove_raft_voter(77, nobody, timeout_ms=LONG_ENOUGH_MS)
    assert removing.value.name in {"UNSUPPORTED_VERSION", "VOTER_NOT_FOUND"}


async def test_a_broker_that_is_not_registered_cannot_be_unregistered(admin: Admin) -> None:
    with pytest.raises(BrokerIdNotRegistered, match="broker 12345"):
        await admin.unregister_broker(12345)


async def test_replicas_are_reassigned_each_with_its_own_error(
    admin: Admin, partition: TopicPartition
) -> None:
    node, nowhere = await node_id(admin), TopicPartition("nowhere", 0)
    same = await admin.alter_partition_reassignments({partition: [node], nowhere: [node]})
    assert same[partition] is None
    assert isinstance(same[nowhere], UnknownTopicOrPartition)
    refused = await admin.alter_partition_reassignments({partition: [12345]})
    assert isinstance(refused[partition], InvalidReplicaAssignment)
    cancelled = await admin.alter_partition_reassignments({partition: None})
    assert isinstance(cancelled[partition], NoReassignmentInProgress)
    assert await admin.list_partition_reassignments() == {}
    assert await admin.list_partition_reassignments([partition]) == {}


async def test_leaders_are_elected_where_that_is_needed(
    admin: Admin, partition: TopicPartition
) -> None:
    nowhere = TopicPartition("nowhere", 0)
    for kind in ElectionType:
        elected = await admin.elect_leaders(kind, [partition, nowhere])
        assert isinstance(elected[partition], ElectionNotNeeded)
        assert isinstance(elected[nowhere], UnknownTopicOrPartition)
    assert await admin.elect_leaders(ElectionType.PREFERRED) == {}


async def test_log_directories_are_described(admin: Admin, partition: TopicPartition) -> None:
    node = await node_id(admin)
    described = await admin.describe_log_dirs([node, 12345], timeout_ms=1000)
    ((path, _),) = described.result(node).items()
    directory = described.result(node).result(path)
    replica = directory.replicas[partition]
    assert (replica.size_bytes, replica.offset_lag, replica.is_future) == (0, 0, False)
    assert directory.total_bytes is not None
    assert directory.usable_bytes is not None
    assert 0 < directory.usable_bytes <= directory.total_bytes
    assert not directory.is_cordoned
    assert isinstance(described[12345], (NetworkException, RequestTimedOut))
    only = (await admin.describe_log_dirs([node], [partition])).result(node).result(path)
    assert list(only.replicas) == [partition]


async def test_replicas_are_found_in_their_directories(
    admin: Admin, partition: TopicPartition
) -> None:
    node = await node_id(admin)
    (path,) = (await admin.describe_log_dirs([node])).result(node)
    there = TopicPartitionReplica(partition.topic, 0, node)
    nowhere = TopicPartitionReplica("nowhere", 0, node)
    found = await admin.describe_replica_log_dirs([there, nowhere])
    assert found == {there: ReplicaLogDirs(path, 0), nowhere: ReplicaLogDirs()}


async def test_replicas_move_to_directories_that_there_are(
    admin: Admin, partition: TopicPartition
) -> None:
    node = await node_id(admin)
    (path,) = (await admin.describe_log_dirs([node])).result(node)
    there = TopicPartitionReplica(partition.topic, 0, node)
    nowhere = TopicPartitionReplica("nowhere", 0, node)
    moved = await admin.alter_replica_log_dirs({there: path, nowhere: path})
    assert moved[there] is None
    assert isinstance(moved[nowhere], (ReplicaNotAvailable, UnknownTopicOrPartition))
    refused = await admin.alter_replica_log_dirs({there: "/no/such/directory"})
    assert isinstance(refused[there], LogDirNotFound)
