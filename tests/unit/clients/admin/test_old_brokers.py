"""What a broker is too old for says since which Kafka it exists; where an older API knows the same, that one is asked."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from millstream.clients import Admin
from millstream.clients.admin import (
    AlterConfig,
    ClientQuotaEntity,
    ConfigResource,
    ConfigResourceType,
    ElectionType,
    FeatureUpdate,
    MemberToRemove,
    Results,
    ScramMechanism,
    UpsertScramCredential,
)
from millstream.clients.admin.core.releases import SINCE
from millstream.errors import UnsupportedVersion
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.describe_groups import DescribedGroup, DescribeGroupsResponse
from millstream.protocol.generated.find_coordinator import FindCoordinatorResponse
from millstream.protocol.generated.leave_group import LeaveGroupResponse
from millstream.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream.protocol.generated.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tests.unit.clients.admin.fake_cluster import FakeCluster

KAFKA_2_1 = {
    ApiKey.LIST_OFFSETS: 4,
    ApiKey.METADATA: 7,
    ApiKey.OFFSET_COMMIT: 6,
    ApiKey.OFFSET_FETCH: 5,
    ApiKey.FIND_COORDINATOR: 2,
    ApiKey.LEAVE_GROUP: 2,
    ApiKey.DESCRIBE_GROUPS: 2,
    ApiKey.LIST_GROUPS: 2,
    ApiKey.API_VERSIONS: 2,
    ApiKey.CREATE_TOPICS: 3,
    ApiKey.DELETE_TOPICS: 3,
    ApiKey.DELETE_RECORDS: 1,
    ApiKey.INIT_PRODUCER_ID: 1,
    ApiKey.WRITE_TXN_MARKERS: 0,
    ApiKey.DESCRIBE_ACLS: 1,
    ApiKey.CREATE_ACLS: 1,
    ApiKey.DELETE_ACLS: 1,
    ApiKey.DESCRIBE_CONFIGS: 2,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 1,
    ApiKey.DESCRIBE_LOG_DIRS: 1,
    ApiKey.CREATE_PARTITIONS: 1,
    ApiKey.CREATE_DELEGATION_TOKEN: 1,
    ApiKey.RENEW_DELEGATION_TOKEN: 1,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 1,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 1,
    ApiKey.DELETE_GROUPS: 1,
}
"""Highest versions; what is not here does not exist in that release."""

PARTITION = TopicPartition("t", 0)
RESOURCE = ConfigResource(ConfigResourceType.GROUP, "g")
USER = UpsertScramCredential("ann", ScramMechanism.SCRAM_SHA_256, "secret", 1)
NODE = bytes(15) + b"\x01"

NEWER: dict[ApiKey, Callable[[Any], Awaitable[object]]] = {
    ApiKey.ELECT_LEADERS: lambda a: Admin.elect_leaders(a, ElectionType.PREFERRED),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda a: Admin.incremental_alter_configs(
        a, {RESOURCE: [AlterConfig("x", "1")]}
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda a: Admin.alter_partition_reassignments(
        a, {PARTITION: [1]}
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda a: Admin.list_partition_reassignments(a),
    ApiKey.OFFSET_DELETE: lambda a: Admin.delete_consumer_group_offsets(a, "g", [PARTITION]),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: lambda a: Admin.describe_client_quotas(a),
    ApiKey.ALTER_CLIENT_QUOTAS: lambda a: Admin.alter_client_quotas(
        a, {ClientQuotaEntity(user="ann"): {}}
    ),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: lambda a: Admin.describe_user_scram_credentials(a),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda a: Admin.alter_user_scram_credentials(a, [USER]),
    ApiKey.UPDATE_FEATURES: lambda a: Admin.update_features(a, {"x": FeatureUpdate(1)}),
    ApiKey.DESCRIBE_CLUSTER: lambda a: Admin.describe_cluster(a, include_fenced_brokers=True),
    ApiKey.DESCRIBE_PRODUCERS: lambda a: Admin.describe_producers(a, [PARTITION]),
    ApiKey.UNREGISTER_BROKER: lambda a: Admin.unregister_broker(a, 1),
    ApiKey.DESCRIBE_TRANSACTIONS: lambda a: Admin.describe_transactions(a, ["x"]),
    ApiKey.LIST_TRANSACTIONS: lambda a: Admin.list_transactions(a),
    ApiKey.DESCRIBE_QUORUM: lambda a: Admin.describe_metadata_quorum(a),
    ApiKey.LIST_CONFIG_RESOURCES: lambda a: Admin.list_config_resources(a),
    ApiKey.ADD_RAFT_VOTER: lambda a: Admin.add_raft_voter(a, 1, NODE, []),
    ApiKey.REMOVE_RAFT_VOTER: lambda a: Admin.remove_raft_voter(a, 1, NODE),
    ApiKey.SHARE_GROUP_DESCRIBE: lambda a: Admin.describe_share_groups(a, ["g"]),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: lambda a: Admin.list_share_group_offsets(a, ["g"]),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: lambda a: Admin.alter_share_group_offsets(
        a, "g", {PARTITION: 0}
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: lambda a: Admin.delete_share_group_offsets(a, "g", ["t"]),
    ApiKey.STREAMS_GROUP_DESCRIBE: lambda a: Admin.describe_streams_groups(a, ["g"]),
}
HAVE_AN_OLDER_WAY = {ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.DESCRIBE_TOPIC_PARTITIONS}


class OldAdmin:
    """What the admin calls need of an Admin, on a cluster of Kafka 2.1."""

    def __init__(self) -> None:
        versions = {key: (0, highest) for key, highest in KAFKA_2_1.items()}
        self.cluster = FakeCluster(versions=versions)
        self.cluster.script(ApiKey.FIND_COORDINATOR, lambda *_: FindCoordinatorResponse(node_id=1))
        topic = MetadataResponseTopic(
            name="t", partitions=[MetadataResponsePartition(0, 0, 1, 5, [1], [1])]
        )
        brokers = [MetadataResponseBroker(1, "b", 9092, "r")]
        metadata = MetadataResponse(
            brokers=brokers, cluster_id="c", controller_id=1, topics=[topic]
        )
        self.cluster.script(ApiKey.METADATA, lambda *_: metadata)
        self._driver = self.cluster.driver()


def test_every_api_that_came_later_is_tried_here() -> None:
    assert NEWER.keys() | HAVE_AN_OLDER_WAY == SINCE.keys()
    assert not KAFKA_2_1.keys() & SINCE.keys()


@pytest.mark.parametrize("api", NEWER, ids=lambda api: api.name)
async def test_what_came_later_says_when(api: ApiKey) -> None:
    async def call() -> None:
        results = await NEWER[api](OldAdmin())
        assert isinstance(results, Results)
        results.raise_errors()

    with pytest.raises(UnsupportedVersion) as raised:
        await call()
    assert str(raised.value).startswith(f"{api.name} exists since Kafka {SINCE[api]}; ")


async def test_topics_are_described_from_metadata() -> None:
    described = (await Admin.describe_topics(OldAdmin(), ["t"])).result("t")
    (partition,) = described.partitions
    assert (partition.leader, partition.replicas, partition.isr) == (1, (1,), (1,))
    assert (partition.eligible_leader_replicas, described.authorized_operations) == (None, None)
    refused = await Admin.describe_topics(OldAdmin(), ["t"], include_authorized_operations=True)
    with pytest.raises(UnsupportedVersion, match="METADATA: the broker is too old"):
        refused.raise_errors()


async def test_the_cluster_is_described_from_metadata() -> None:
    cluster = await Admin.describe_cluster(OldAdmin())
    assert (cluster.cluster_id, cluster.controller_id) == ("c", 1)
    assert [(node.node_id, node.rack) for node in cluster.nodes] == [(1, "r")]


async def test_all_groups_are_classic_ones() -> None:
    admin = OldAdmin()
    group = DescribedGroup(group_id="g", group_state="Empty", protocol_type="consumer")
    admin.cluster.script(ApiKey.DESCRIBE_GROUPS, lambda *_: DescribeGroupsResponse(groups=[group]))
    described = await Admin.describe_consumer_groups(admin, ["g"])
    assert described.result("g").state == "Empty"
    with pytest.raises(UnsupportedVersion, match=r"groups have types since Kafka 3\.8"):
        await Admin.list_groups(admin, types=["share"])


async def test_offsets_are_fetched_one_group_at_a_time() -> None:
    """OffsetFetch takes several groups since version 8."""
    admin = OldAdmin()
    partition = OffsetFetchResponsePartition(0, 7, 1, "note", 0)
    response = OffsetFetchResponse(topics=[OffsetFetchResponseTopic("t", [partition])])
    admin.cluster.script(ApiKey.OFFSET_FETCH, lambda *_: response)
    listed = await Admin.list_consumer_group_offsets(admin, {"g": None, "h": [PARTITION]})
    assert [listed.result(group)[PARTITION] for group in "gh"] == [(7, "note", 1), (7, "note", 1)]
    requests = [request for _, request in admin.cluster.requests(ApiKey.OFFSET_FETCH)]
    assert [(each.group_id, each.topics and each.topics[0].name) for each in requests] == [
        ("g", None),
        ("h", "t"),
    ]


async def test_members_leave_one_at_a_time_and_by_member_id_only() -> None:
    """LeaveGroup takes several members, and instance ids, since version 3."""
    admin = OldAdmin()
    admin.cluster.script(ApiKey.LEAVE_GROUP, lambda *_: LeaveGroupResponse())
    one, two, static = (
        MemberToRemove(member_id="1"),
        MemberToRemove(member_id="2"),
        MemberToRemove("i"),
    )
    removed = await Admin.remove_members_from_consumer_group(admin, "g", [one, two, static])
    assert (removed[one], removed[two]) == (None, None)
    assert isinstance(removed[static], UnsupportedVersion)
    left = [request.member_id for _, request in admin.cluster.requests(ApiKey.LEAVE_GROUP)]
    assert left == ["1", "2"]


def test_methods_of_the_admin_all_take_a_time_limit() -> None:
    calls = {
        name: inspect.signature(method).parameters
        for name, method in vars(Admin).items()
        if inspect.iscoroutinefunction(method) and not name.startswith("_") and name != "close"
    }
    assert len(calls) > 60
    assert [name for name, parameters in calls.items() if "timeout_ms" not in parameters] == []
