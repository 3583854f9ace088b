"""The brokers that have the replicas of a partition, and the one that leads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from millstream.clients.admin.core.call import Asked, Call
from millstream.clients.admin.core.results import Results, check, done
from millstream.clients.admin.core.routes import Controller
from millstream.clients.admin.driver import AdminCalls
from millstream.clients.admin.groups.offsets import by_topic
from millstream.errors import KafkaError, UnknownServerError
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.enums import ElectionType
from millstream.protocol.generated.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from millstream.protocol.generated.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from millstream.protocol.generated.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)


class PartitionReassignment(NamedTuple):
    """`replicas` are all that there are at the moment, those to be added and removed included."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


async def alter_partition_reassignments(
    admin: AdminCalls,
    reassignments: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool = True,
    timeout_ms: int | None = None,
) -> Results[TopicPartition, None]:
    """Returns the brokers that shall have each partition's replicas; None cancels what is under way (Kafka 2.4).

    The data moves after this has returned: see `list_partition_reassignments`.
    Not to allow a change of the replication factor needs Kafka 4.1.
    """

    def build(asked: Asked[TopicPartition]) -> AlterPartitionReassignmentsRequest:
        topics: dict[str, ReassignableTopic] = {}
        for key in asked.keys:
            replicas = reassignments[key]
            topic = topics.setdefault(key.topic, ReassignableTopic(name=key.topic))
            topic.partitions.append(
                ReassignablePartition(key.partition, None if replicas is None else list(replicas))
            )
        return AlterPartitionReassignmentsRequest(
            timeout_ms=asked.timeout_ms,
            allow_replication_factor_change=allow_replication_factor_change,
            topics=list(topics.values()),
        )

    def read(
        response: AlterPartitionReassignmentsResponse, _: Asked[TopicPartition]
    ) -> dict[TopicPartition, KafkaError | None]:
        check(response.error_code, "alter_partition_reassignments", response.error_message)
        return {
            (key := TopicPartition(topic.name, each.partition_index)): done(
                each.error_code, key, each.error_message
            )
            for topic in response.responses
            for each in topic.partitions
        }

    call = Call(
        api=ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        response=AlterPartitionReassignmentsResponse,
        route=Controller(),
        build=build,
        read=read,
    )
    return await admin._driver.run(call, reassignments, admin._driver.deadline(timeout_ms))


async def list_partition_reassignments(
    admin: AdminCalls,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    timeout_ms: int | None = None,
) -> dict[TopicPartition, PartitionReassignment]:
    """Returns the reassignments that are under way, of these partitions or of all (Kafka 2.4)."""
    topics = None
    if partitions is not None:
        topics = [
            ListPartitionReassignmentsTopics(*topic) for topic in by_topic(partitions).items()
        ]

    def read(
        response: ListPartitionReassignmentsResponse, asked: Asked[None]
    ) -> dict[None, dict[TopicPartition, PartitionReassignment]]:
        check(response.error_code, "list_partition_reassignments", response.error_message)
        ongoing = {
            TopicPartition(topic.name, each.partition_index): PartitionReassignment(
                tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
            )
            for topic in response.topics
            for each in topic.partitions
        }
        return dict.fromkeys(asked.keys, ongoing)

    call = Call(
        api=ApiKey.LIST_PARTITION_REASSIGNMENTS,
        response=ListPartitionReassignmentsResponse,
        route=Controller(),
        build=lambda asked: ListPartitionReassignmentsRequest(
            timeout_ms=asked.timeout_ms, topics=topics
        ),
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))


async def elect_leaders(
    admin: AdminCalls,
    election_type: ElectionType,
    partitions: Iterable[TopicPartition] | None = None,
    *,
    timeout_ms: int | None = None,
) -> Results[TopicPartition, None]:
    """Has leaders elected (Kafka 2.2). ElectionNotNeeded for a partition that has the leader it should have.

    None asks for all partitions; those that need no election are left out of the results then.
    """
    wanted = None if partitions is None else list(partitions)
    topics = None
    if wanted is not None:
        topics = [TopicPartitions(*topic) for topic in by_topic(wanted).items()]

    def build(asked: Asked[None]) -> ElectLeadersRequest:
        return ElectLeadersRequest(
            election_type=election_type, topic_partitions=topics, timeout_ms=asked.timeout_ms
        )

    def read(
        response: ElectLeadersResponse, asked: Asked[None]
    ) -> dict[None, Results[TopicPartition, None]]:
        check(response.error_code, "elect_leaders")
        results: Results[TopicPartition, None] = Results()
        for key in wanted or ():
            results[key] = UnknownServerError(f"{key}: the broker's answer leaves this out")
        for topic in response.replica_election_results:
            for each in topic.partition_result:
                key = TopicPartition(topic.topic, each.partition_id)
                results[key] = done(each.error_code, key, each.error_message)
        return dict.fromkeys(asked.keys, results)

    call = Call(
        api=ApiKey.ELECT_LEADERS,
        response=ElectLeadersResponse,
        route=Controller(),
        build=build,
        read=read,
    )
    return await admin._driver.one(call, None, admin._driver.deadline(timeout_ms))
