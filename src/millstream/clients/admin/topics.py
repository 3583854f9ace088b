"""Admin calls about topics: create, delete, list, describe, add partitions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from millstream.clients.admin.results import (
    CreatedTopic,
    NewTopic,
    Results,
    TopicDescription,
    TopicListing,
    item_error,
)
from millstream.clients.cluster import Cluster
from millstream.clients.connection import Connection
from millstream.clients.core.cluster_metadata import ClusterMetadata
from millstream.errors import KafkaError, NotController, UnknownServerError, error_for
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from millstream.protocol.generated.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from millstream.protocol.generated.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from millstream.protocol.generated.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

_Item = TypeVar("_Item")

_FIRST_DELETE_BY_STATE = 6


async def create_topics(
    cluster: Cluster, topics: Sequence[NewTopic], deadline_ms: int, *, validate_only: bool
) -> Results[str, CreatedTopic]:
    request = CreateTopicsRequest(
        topics=[_creatable(topic) for topic in topics],
        timeout_ms=_remaining_ms(cluster, deadline_ms),
        validate_only=validate_only,
    )

    async def ask(connection: Connection) -> Results[str, CreatedTopic]:
        response = await connection.request(
            ApiKey.CREATE_TOPICS, request, CreateTopicsResponse, timeout_ms=request.timeout_ms
        )
        results: Results[str, CreatedTopic] = Results()
        for topic in response.topics:
            _raise_if_not_controller(topic.error_code)
            if topic.error_code:
                results[topic.name] = item_error(topic.error_code, topic.name, topic.error_message)
            else:
                results[topic.name] = CreatedTopic(
                    topic.name, topic.topic_id, topic.num_partitions, topic.replication_factor
                )
        return _complete(results, [topic.name for topic in topics])

    return await ask_controller(cluster, ask, deadline_ms)


async def delete_topics(
    cluster: Cluster, names: Sequence[str], deadline_ms: int
) -> Results[str, None]:
    async def ask(connection: Connection) -> Results[str, None]:
        timeout_ms = _remaining_ms(cluster, deadline_ms)
        if connection.versions.choose(ApiKey.DELETE_TOPICS) >= _FIRST_DELETE_BY_STATE:
            states = [DeleteTopicState(name=name) for name in names]
            request = DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)
        else:
            request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=timeout_ms)
        response = await connection.request(
            ApiKey.DELETE_TOPICS, request, DeleteTopicsResponse, timeout_ms=timeout_ms
        )
        results: Results[str, None] = Results()
        for topic in response.responses:
            _raise_if_not_controller(topic.error_code)
            name = topic.name or ""
            failed = topic.error_code != 0
            results[name] = (
                item_error(topic.error_code, name, topic.error_message) if failed else None
            )
        return _complete(results, names)

    return await ask_controller(cluster, ask, deadline_ms)


async def create_partitions(
    cluster: Cluster, totals: Mapping[str, int], deadline_ms: int, *, validate_only: bool
) -> Results[str, None]:
    async def ask(connection: Connection) -> Results[str, None]:
        request = CreatePartitionsRequest(
            topics=[
                CreatePartitionsTopic(name=name, count=total, assignments=None)
                for name, total in totals.items()
            ],
            timeout_ms=_remaining_ms(cluster, deadline_ms),
            validate_only=validate_only,
        )
        response = await connection.request(
            ApiKey.CREATE_PARTITIONS,
            request,
            CreatePartitionsResponse,
            timeout_ms=request.timeout_ms,
        )
        results: Results[str, None] = Results()
        for topic in response.results:
            _raise_if_not_controller(topic.error_code)
            failed = topic.error_code != 0
            results[topic.name] = (
                item_error(topic.error_code, topic.name, topic.error_message) if failed else None
            )
        return _complete(results, list(totals))

    return await ask_controller(cluster, ask, deadline_ms)


async def list_topics(
    cluster: Cluster, deadline_ms: int, *, include_internal: bool
) -> dict[str, TopicListing]:
    picture, _ = await _describe(cluster, None, deadline_ms)
    return {
        topic.name: TopicListing(topic.name, topic.topic_id, topic.is_internal)
        for topic in sorted(picture.topics.values(), key=lambda topic: topic.name)
        if include_internal or not topic.is_internal
    }


async def describe_topics(
    cluster: Cluster, names: Iterable[str], deadline_ms: int
) -> Results[str, TopicDescription]:
    wanted = list(names)
    results: Results[str, TopicDescription] = Results()
    if not wanted:
        return results
    picture, errors = await _describe(cluster, wanted, deadline_ms)
    for name in wanted:
        topic = picture.topics.get(name)
        if topic is None:
            results[name] = errors.get(name) or error_for(3, f"{name}: there is no such topic")
        else:
            results[name] = TopicDescription(
                name, topic.topic_id, topic.is_internal, list(topic.partitions.values())
            )
    return results


async def ask_controller(
    cluster: Cluster, ask: Callable[[Connection], Awaitable[_Item]], deadline_ms: int
) -> _Item:
    """`ask` the controller, or any broker of a cluster whose brokers forward (KRaft)."""

    async def attempt() -> _Item:
        if not cluster.picture.nodes:
            await cluster.refresh_metadata(deadline_ms)
        node_id = cluster.picture.controller_id
        if node_id not in cluster.picture.nodes:
            node_id = next(iter(cluster.picture.nodes))
        try:
            return await ask(await cluster.connection(node_id))
        except NotController:
            cluster.request_metadata()
            raise

    return await cluster.retrying(attempt, deadline_ms)


async def _describe(
    cluster: Cluster, names: list[str] | None, deadline_ms: int
) -> tuple[ClusterMetadata, dict[str, KafkaError]]:
    """Straight from a broker: what other calls remember may be old."""
    request = MetadataRequest(
        topics=None if names is None else [MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=False,
    )

    async def attempt() -> MetadataResponse:
        return await cluster.request_any(ApiKey.METADATA, request, MetadataResponse)

    response = await cluster.retrying(attempt, deadline_ms)
    picture = ClusterMetadata().with_response(response, complete=True)
    return picture, {name: item_error(code, name) for name, code in picture.topic_errors.items()}


def _creatable(topic: NewTopic) -> CreatableTopic:
    assignments = [
        CreatableReplicaAssignment(partition, list(replicas))
        for partition, replicas in enumerate(topic.assignments or ())
    ]
    return CreatableTopic(
        name=topic.name,
        num_partitions=-1 if assignments else topic.num_partitions,
        replication_factor=-1 if assignments else topic.replication_factor,
        assignments=assignments,
        configs=[CreatableTopicConfig(name, value) for name, value in topic.configs.items()],
    )


def _raise_if_not_controller(error_code: int) -> None:
    if error_code == NotController.code:
        raise NotController


def _remaining_ms(cluster: Cluster, deadline_ms: int) -> int:
    return max(1, deadline_ms - cluster.now_ms())


def _complete(results: Results[str, _Item], names: Iterable[str]) -> Results[str, _Item]:
    """Every item asked for has a result, whatever the broker left out."""
    for name in names:
        if name not in results:
            results[name] = UnknownServerError(f"{name}: the broker's answer leaves this out")
    return results
