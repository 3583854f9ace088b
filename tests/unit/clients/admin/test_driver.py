"""The admin client's driver: who is asked for which items, how often, and what each item gets in the end."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from millstream.clients.admin import Admin, Results
from millstream.clients.admin.cluster.brokers import unregister_broker
from millstream.clients.admin.cluster.quorum import describe_metadata_quorum
from millstream.clients.admin.groups.groups import delete_groups, list_groups
from millstream.clients.admin.topics.offsets import OffsetSpec, list_offsets
from millstream.clients.admin.topics.topics import NewTopic, create_topics, delete_topics
from millstream.clients.core.values import OffsetAndTimestamp
from millstream.errors import (
    ConfigError,
    CoordinatorLoadInProgress,
    CoordinatorNotAvailable,
    EncodeError,
    GroupAuthorizationFailed,
    KafkaError,
    LeaderNotAvailable,
    NetworkException,
    NonEmptyGroup,
    NotController,
    NotCoordinator,
    NotLeaderOrFollower,
    RequestTimedOut,
    ThrottlingQuotaExceeded,
    TopicAlreadyExists,
    UnknownServerError,
    UnknownTopicOrPartition,
    UnsupportedVersion,
)
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey, Message
from millstream.protocol.generated.create_topics import CreatableTopicResult, CreateTopicsResponse
from millstream.protocol.generated.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from millstream.protocol.generated.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from millstream.protocol.generated.describe_quorum import (
    DescribeQuorumResponse,
)
from millstream.protocol.generated.describe_quorum import (
    DescribeQuorumResponsePartitionData as PartitionData,
)
from millstream.protocol.generated.describe_quorum import (
    DescribeQuorumResponseTopicData as TopicData,
)
from millstream.protocol.generated.find_coordinator import Coordinator, FindCoordinatorResponse
from millstream.protocol.generated.list_groups import ListedGroup, ListGroupsResponse
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from millstream.protocol.generated.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from millstream.protocol.generated.unregister_broker import UnregisterBrokerResponse
from tests.unit.clients.admin.fake_cluster import NEWEST, Answer, FakeCluster, fails


class FakeAdmin:
    def __init__(self, cluster: FakeCluster) -> None:
        self._driver = cluster.driver()


def coordinators(**nodes: int | KafkaError) -> Answer:
    def answer(node_id: int, request: Message) -> FindCoordinatorResponse:
        del node_id
        found = []
        for key in request.coordinator_keys or [request.key]:
            where = nodes[key]
            code = where.code if isinstance(where, KafkaError) else 0
            found.append(Coordinator(key, -1 if code else where, "b", 1, code, None))
        if request.coordinator_keys:
            return FindCoordinatorResponse(coordinators=found)
        return FindCoordinatorResponse(error_code=found[0].error_code, node_id=found[0].node_id)

    return answer


def deleted(**codes: int) -> Answer:
    """Groups that are not named here are deleted."""

    def answer(node_id: int, request: Message) -> DeleteGroupsResponse:
        del node_id
        return DeleteGroupsResponse(
            results=[
                DeletableGroupResult(group, codes.get(group, 0)) for group in request.groups_names
            ]
        )

    return answer


def leaders(topics: Mapping[str, list[int]]) -> Answer:
    def answer(node_id: int, request: Message) -> MetadataResponse:
        del node_id
        described = []
        for topic in request.topics or ():
            known = topics.get(topic.name)
            described.append(
                MetadataResponseTopic(
                    error_code=0 if known is not None else UnknownTopicOrPartition.code,
                    name=topic.name,
                    partitions=[
                        MetadataResponsePartition(partition_index=index, leader_id=leader)
                        for index, leader in enumerate(known or ())
                    ],
                )
            )
        return MetadataResponse(topics=described)

    return answer


def offsets(error_codes: Mapping[int, int] | None = None) -> Answer:
    """Each partition ends at 10 times the leader."""

    def answer(node_id: int, request: Message) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    topic.name,
                    [
                        ListOffsetsPartitionResponse(
                            each.partition_index,
                            (error_codes or {}).get(node_id, 0),
                            -1,
                            10 * node_id,
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return answer


def groups_asked(cluster: FakeCluster) -> list[tuple[int, list[str]]]:
    return [
        (node_id, list(request.groups_names))
        for node_id, request in cluster.requests(ApiKey.DELETE_GROUPS)
    ]


async def test_one_request_goes_to_each_coordinator_after_one_that_finds_them_all() -> None:
    cluster = FakeCluster()
    cluster.script(ApiKey.FIND_COORDINATOR, coordinators(a=1, b=2, c=1))
    cluster.script(ApiKey.DELETE_GROUPS, deleted(c=NonEmptyGroup.code))
    results = await delete_groups(FakeAdmin(cluster), ["a", "b", "c", "a"])
    assert len(cluster.requests(ApiKey.FIND_COORDINATOR)) == 1
    assert groups_asked(cluster) == [(1, ["a", "c"]), (2, ["b"])]
    assert list(results) == ["a", "b", "c"]
    assert results.errors().keys() == {"c"}
    assert isinstance(results["c"], NonEmptyGroup)


async def test_older_brokers_are_asked_for_one_coordinator_at_a_time() -> None:
    """FindCoordinator takes many keys since version 4."""
    cluster = FakeCluster(versions={**NEWEST, ApiKey.FIND_COORDINATOR: (0, 3)})
    cluster.script(ApiKey.FIND_COORDINATOR, coordinators(a=1, b=2))
    cluster.script(ApiKey.DELETE_GROUPS, deleted())
    assert await delete_groups(FakeAdmin(cluster), ["a", "b"]) == {"a": None, "b": None}
    found = [request.key for _, request in cluster.requests(ApiKey.FIND_COORDINATOR)]
    assert found == ["a", "b"]


async def test_only_the_group_whose_coordinator_moved_is_looked_up_and_asked_again() -> None:
    cluster = FakeCluster()
    cluster.script(ApiKey.FIND_COORDINATOR, coordinators(a=1, b=1, c=2), coordinators(b=3))
    cluster.script(ApiKey.DELETE_GROUPS, deleted(b=NotCoordinator.code), deleted(), deleted())
    assert await delete_groups(FakeAdmin(cluster), "abc") == {"a": None, "b": None, "c": None}
    asked = [request.coordinator_keys for _, request in cluster.requests(ApiKey.FIND_COORDINATOR)]
    assert asked == [["a", "b", "c"], ["b"]]
    assert groups_asked(cluster) == [(1, ["a", "b"]), (2, ["c"]), (3, ["b"])]


async def test_a_coordinator_that_is_not_there_yet_is_looked_for_again() -> None:
    cluster = FakeCluster()
    cluster.script(
        ApiKey.FIND_COORDINATOR,
        coordinators(a=CoordinatorNotAvailable(), b=2),
        coordinators(a=1),
    )
    cluster.script(ApiKey.DELETE_GROUPS, deleted(a=CoordinatorLoadInProgress.code), deleted())
    assert await delete_groups(FakeAdmin(cluster), "ab") == {"a": None, "b": None}


async def test_a_group_that_may_not_be_looked_up_keeps_no_other_from_its_answer() -> None:
    cluster = FakeCluster()
    cluster.script(ApiKey.FIND_COORDINATOR, coordinators(a=GroupAuthorizationFailed(), b=2))
    cluster.script(ApiKey.DELETE_GROUPS, deleted())
    results = await delete_groups(FakeAdmin(cluster), "ab")
    assert results["b"] is None
    assert isinstance(results["a"], GroupAuthorizationFailed)
    assert groups_asked(cluster) == [(2, ["b"])]


async def test_a_lost_answer_is_asked_for_again() -> None:
    cluster = FakeCluster()
    cluster.script(ApiKey.FIND_COORDINATOR, coordinators(a=1))
    cluster.script(ApiKey.DELETE_GROUPS, fails(NetworkException("gone")), deleted())
    assert await delete_groups(FakeAdmin(cluster), "a") == {"a": None}
    assert groups_asked(cluster) == [(1, ["a"]), (1, ["a"])]


async def test_the_deadline_leaves_what_was_answered_and_the_last_error() -> None:
    cluster = FakeCluster()
    cluster.script(ApiKey.FIND_COORDINATOR, coordinators(a=1, b=2))

    def busy(node_id: int, request: Message) -> Message:
        cluster.now += 400
        return deleted(b=NotCoordinator.code)(node_id, request)

    cluster.script(ApiKey.DELETE_GROUPS, busy)
    results = await delete_groups(FakeAdmin(cluster), "ab", timeout_ms=1000)
    assert results["a"] is None
    assert isinstance(results["b"], NotCoordinator)
    assert len(groups_asked(cluster)) == 3


async def test_no_time_at_all_is_a_timeout_of_every_item() -> None:
    results = await delete_groups(FakeAdmin(FakeCluster()), "ab", timeout_ms=0)
    assert [type(results[group]) for group in "ab"] == [RequestTimedOut, RequestTimedOut]
    with pytest.raises(RequestTimedOut, match="b: the time limit of the call was over"):
        results.result("b")
    late = await delete_groups(FakeAdmin(FakeCluster(unreachable="b:1 refused")), "a", timeout_ms=0)
    with pytest.raises(RequestTimedOut, match="; b:1 refused"):
        late.result("a")


async def test_an_item_that_the_answer_leaves_out_has_an_error() -> None:
    cluster = FakeCluster()
    cluster.script(ApiKey.FIND_COORDINATOR, coordinators(a=1))
    cluster.script(ApiKey.DELETE_GROUPS, lambda *_: DeleteGroupsResponse())
    results = await delete_groups(FakeAdmin(cluster), "a")
    with pytest.raises(UnknownServerError, match="a: the broker's answer leaves this out"):
        results.raise_errors()


async def test_one_request_goes_to_each_leader() -> None:
    cluster = FakeCluster()
    cluster.script(ApiKey.METADATA, leaders({"t": [1, 2, 1], "u": [2]}))
    cluster.script(ApiKey.LIST_OFFSETS, offsets())
    wanted = [TopicPartition("t", index) for index in range(3)] + [TopicPartition("u", 0)]
    results = await list_offsets(FakeAdmin(cluster), dict.fromkeys(wanted, OffsetSpec.LATEST))
    assert [results.result(each).offset for each in wanted] == [10, 20, 10, 20]
    asked = [
        (node_id, {t.name: [p.partition_index for p in t.partitions] for t in request.topics})
        for node_id, request in cluster.requests(ApiKey.LIST_OFFSETS)
    ]
    assert asked == [(1, {"t": [0, 2]}), (2, {"t": [1], "u": [0]})]


async def test_a_leader_that_is_known_to_have_been_replaced_is_not_asked() -> None:
    """The broker that says who leads may have heard less than the client: its partition ends earlier."""
    cluster = FakeCluster()
    cluster.script(ApiKey.METADATA, leaders({"t": [1, 1]}))
    cluster.script(ApiKey.LIST_OFFSETS, offsets())
    cluster.later = {TopicPartition("t", 1): (3, 7)}
    wanted = [TopicPartition("t", 0), TopicPartition("t", 1)]
    found = await list_offsets(FakeAdmin(cluster), dict.fromkeys(wanted, OffsetSpec.LATEST))
    assert [found.result(tp).offset for tp in wanted] == [10, 30]


async def test_only_the_partition_whose_leader_moved_is_asked_again() -> None:
    cluster = FakeCluster()
    cluster.script(ApiKey.METADATA, leaders({"t": [1, 2]}), leaders({"t": [1, 3]}))
    moved = {2: NotLeaderOrFollower.code}
    cluster.script(ApiKey.LIST_OFFSETS, offsets(moved))
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)
    results = await list_offsets(
        FakeAdmin(cluster), {first: OffsetSpec.LATEST, second: OffsetSpec.LATEST}
    )
    assert results == {first: OffsetAndTimestamp(10, -1), second: OffsetAndTimestamp(30, -1)}
    assert [node_id for node_id, _ in cluster.requests(ApiKey.LIST_OFFSETS)] == [1, 2, 3]


async def test_a_partition_without_a_leader_keeps_no_other_from_its_answer() -> None:
    """They are asked at once; it alone is looked for until the time limit."""
    cluster = FakeCluster()
    asked_at: list[int] = []

    def answer(node_id: int, request: Message) -> Message:
        asked_at.append(cluster.now)
        return offsets()(node_id, request)

    def look(node_id: int, request: Message) -> Message:
        cluster.now += 400
        return leaders({"t": [1, -1]})(node_id, request)

    cluster.script(ApiKey.METADATA, look)
    cluster.script(ApiKey.LIST_OFFSETS, answer)
    led, orphan = TopicPartition("t", 0), TopicPartition("t", 1)
    results = await list_offsets(
        FakeAdmin(cluster), dict.fromkeys((led, orphan), -1), timeout_ms=1_000
    )
    assert results.result(led).offset == 10
    assert isinstance(results[orphan], LeaderNotAvailable)
    assert asked_at == [400]
    assert len(cluster.requests(ApiKey.METADATA)) == 3


async def test_an_unknown_topic_is_believed_after_a_few_attempts() -> None:
    """Brokers learn of new topics with a delay; a name that was mistyped should not take a minute."""
    cluster = FakeCluster()
    late = [leaders({})] * 2
    cluster.script(ApiKey.METADATA, *late, leaders({"new": [1]}))
    cluster.script(ApiKey.LIST_OFFSETS, offsets())
    new, mistyped = TopicPartition("new", 0), TopicPartition("mew", 0)
    results = await list_offsets(FakeAdmin(cluster), dict.fromkeys((new, mistyped), -1))
    assert results.result(new).offset == 10
    assert isinstance(results[mistyped], UnknownTopicOrPartition)
    assert len(cluster.requests(ApiKey.METADATA)) == 4


async def test_a_spec_that_the_broker_is_too_old_for_fails_alone() -> None:
    cluster = FakeCluster(versions={**NEWEST, ApiKey.LIST_OFFSETS: (0, 6)})
    cluster.script(ApiKey.METADATA, leaders({"t": [1, 1]}))
    cluster.script(ApiKey.LIST_OFFSETS, offsets())
    first, second = TopicPartition("t", 0), TopicPartition("t", 1)
    results = await list_offsets(
        FakeAdmin(cluster), {first: OffsetSpec.MAX_TIMESTAMP, second: OffsetSpec.EARLIEST}
    )
    assert results.result(second).offset == 10
    with pytest.raises(UnsupportedVersion, match=r"knows MAX_TIMESTAMP since Kafka 3\.0"):
        results.result(first)


def created(**codes: int) -> Answer:
    def answer(node_id: int, request: Message) -> CreateTopicsResponse:
        del node_id
        return CreateTopicsResponse(
            topics=[
                CreatableTopicResult(name=topic.name, error_code=codes.get(topic.name, 0))
                for topic in request.topics
            ]
        )

    return answer


async def test_the_controller_is_looked_for_again_when_it_has_moved() -> None:
    """Before KRaft brokers did not pass requests on."""
    cluster = FakeCluster()
    cluster.controller_ids.extend([3])
    cluster.script(ApiKey.CREATE_TOPICS, created(a=41, b=36), created())  # 41: not the controller
    results = await create_topics(FakeAdmin(cluster), [NewTopic("a"), NewTopic("b")])
    assert results.result("a").name == "a"
    assert isinstance(results["b"], TopicAlreadyExists)
    asked = [
        (node_id, [topic.name for topic in request.topics])
        for node_id, request in cluster.requests(ApiKey.CREATE_TOPICS)
    ]
    assert asked == [(1, ["a", "b"]), (3, ["a"])]


async def test_the_quorum_is_asked_again_when_the_node_asked_does_not_lead_it() -> None:
    """A controller passes nothing on."""

    def described(code: int) -> Answer:
        partition = PartitionData(error_code=code, leader_id=3)
        return lambda _node, _request: DescribeQuorumResponse(
            topics=[TopicData(partitions=[partition])]
        )

    cluster = FakeCluster()
    cluster.script(ApiKey.DESCRIBE_QUORUM, described(NotLeaderOrFollower.code), described(0))
    assert (await describe_metadata_quorum(FakeAdmin(cluster))).leader_id == 3
    assert len(cluster.requests(ApiKey.DESCRIBE_QUORUM)) == 2


async def test_a_topic_over_the_quota_is_asked_for_again_unless_told_not_to() -> None:
    """KIP-599."""
    code = ThrottlingQuotaExceeded.code
    for retry, attempts in ((True, 2), (False, 1)):
        cluster = FakeCluster()
        cluster.script(ApiKey.CREATE_TOPICS, created(a=code), created())
        results = await create_topics(
            FakeAdmin(cluster), [NewTopic("a")], retry_on_quota_violation=retry
        )
        assert len(cluster.requests(ApiKey.CREATE_TOPICS)) == attempts
        assert isinstance(results["a"], ThrottlingQuotaExceeded) is not retry


async def test_topics_are_deleted_by_name_where_ids_are_not_known() -> None:
    cluster = FakeCluster(versions={**NEWEST, ApiKey.DELETE_TOPICS: (0, 5)})
    response = DeleteTopicsResponse(responses=[DeletableTopicResult(name="a")])
    cluster.script(ApiKey.DELETE_TOPICS, lambda *_: response)
    assert await delete_topics(FakeAdmin(cluster), ["a"]) == {"a": None}
    by_id = await delete_topics(FakeAdmin(cluster), [bytes(15) + b"\x01"])
    with pytest.raises(UnsupportedVersion, match=r"by id exists since Kafka 2\.8"):
        by_id.raise_errors()


async def test_every_broker_is_asked_for_its_groups_and_a_silent_one_is_no_empty_one() -> None:
    def listed(node_id: int, request: Message) -> ListGroupsResponse:
        return ListGroupsResponse(groups=[ListedGroup(f"g{node_id}", "consumer", "Stable", "")])

    cluster = FakeCluster()
    cluster.script(ApiKey.LIST_GROUPS, listed)
    assert [each.group_id for each in await list_groups(FakeAdmin(cluster))] == ["g1", "g2", "g3"]
    cluster.answers[ApiKey.LIST_GROUPS].clear()
    cluster.script(ApiKey.LIST_GROUPS, listed, lambda *_: ListGroupsResponse(error_code=29), listed)
    with pytest.raises(KafkaError) as failed:
        await list_groups(FakeAdmin(cluster))
    assert failed.value.code == 29


async def test_where_a_broker_leaves_unheard_the_others_are_asked_for_what_was_its() -> None:
    def groups(node_id: int, request: Message) -> ListGroupsResponse:
        names = {1: "a", 2: "b"} if cluster.node_ids == (1, 2) else {1: "a"}
        if node_id == 3:
            cluster.node_ids = (1, 2)
            cluster.show_nodes()
            raise NetworkException("gone")
        listed = [ListedGroup(names[node_id], "consumer", "Stable", "")] if node_id in names else []
        return ListGroupsResponse(groups=listed)

    cluster = FakeCluster()
    cluster.script(ApiKey.LIST_GROUPS, groups)
    assert [each.group_id for each in await list_groups(FakeAdmin(cluster))] == ["a", "b"]
    asked = [node_id for node_id, _ in cluster.requests(ApiKey.LIST_GROUPS)]
    assert asked == [1, 2, 3, 1, 2]


async def test_a_broker_that_stays_silent_is_waited_for() -> None:
    def silent(node_id: int, request: Message) -> ListGroupsResponse:
        cluster.now += 400
        if node_id == 3:
            raise NetworkException("gone")
        return ListGroupsResponse(groups=[])

    cluster = FakeCluster()
    cluster.script(ApiKey.LIST_GROUPS, silent)
    with pytest.raises(NetworkException, match="gone"):
        await list_groups(FakeAdmin(cluster), timeout_ms=2000)
    asked = [node_id for node_id, _ in cluster.requests(ApiKey.LIST_GROUPS)]
    assert asked == [1, 2, 3, 3, 3]


async def test_what_the_brokers_version_has_no_field_for_is_unsupported() -> None:
    cluster = FakeCluster(versions={**NEWEST, ApiKey.LIST_GROUPS: (0, 3)})
    with pytest.raises(UnsupportedVersion, match="LIST_GROUPS: the broker is too old"):
        await list_groups(FakeAdmin(cluster), states=["Stable"])
    assert cluster.sent == []


async def test_a_value_that_no_version_can_carry_is_the_callers_mistake() -> None:
    cluster = FakeCluster()
    cluster.script(ApiKey.CREATE_TOPICS, created())
    with pytest.raises(EncodeError, match="num_partitions"):
        await create_topics(FakeAdmin(cluster), [NewTopic("a", num_partitions=2**40)])


def test_the_first_error_is_raised_with_notes_on_the_others() -> None:
    results: Results[str, int] = Results(
        {"a": 1, "b": TopicAlreadyExists("b: is there"), "c": NetworkException("c: is gone")}
    )
    assert results.result("a") == 1
    with pytest.raises(TopicAlreadyExists, match="b: is there") as raised:
        results.raise_errors()
    assert raised.value.__notes__ == ["c: c: is gone"]


async def test_controllers_answer_for_themselves_and_the_active_one_does_everything() -> None:
    """KIP-919: what any broker would pass on goes to the active controller, which may move."""
    cluster = FakeCluster()
    cluster.controller_ids.extend([3])
    moved = UnregisterBrokerResponse(error_code=NotController.code)
    cluster.script(
        ApiKey.UNREGISTER_BROKER, lambda *_: moved, lambda *_: UnregisterBrokerResponse()
    )
    admin = FakeAdmin(cluster)
    admin._driver = cluster.driver(asks_controllers=True)
    await unregister_broker(admin, 5)
    asked = [node_id for node_id, _ in cluster.requests(ApiKey.UNREGISTER_BROKER)]
    assert asked == [1, 3]


def test_brokers_and_controllers_are_not_given_both() -> None:
    with pytest.raises(ConfigError, match="not both"):
        Admin(bootstrap_servers="b:1", bootstrap_controllers="c:1")
