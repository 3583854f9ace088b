"""ListOffsets from the right leaders: offsets of timestamps, of the start and of the end of partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from millstream.clients.cluster.cluster import Cluster
from millstream.clients.core.values import OffsetAndTimestamp
from millstream.errors import KafkaError, LeaderNotAvailable, RequestTimedOut, error_for
from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)


async def list_offsets(
    cluster: Cluster,
    timestamps: Mapping[TopicPartition, int],
    *,
    read_committed: bool,
    deadline_ms: int,
) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
    """Returns one result or error per partition; retriable errors are retried until the deadline.

    A timestamp (ms) gives the first offset at or after it, -1 the end, -2 the start; offset -1 when there is none.
    """
    results: dict[TopicPartition, OffsetAndTimestamp | KafkaError] = {}
    remaining = dict(timestamps)
    failures = 0
    while remaining:
        results.update(
            await _ask_leaders(cluster, remaining, deadline_ms, read_committed=read_committed)
        )
        remaining = {
            tp: timestamp
            for tp, timestamp in remaining.items()
            if isinstance(error := results[tp], KafkaError) and error.retriable
        }
        if remaining:
            failures += 1
            wait_ms = cluster.backoff.delay_ms(failures, cluster.random)
            if cluster.now_ms() + wait_ms >= deadline_ms:
                break
            cluster.request_metadata()
            await asyncio.sleep(wait_ms / 1000)
    return results


async def lookup_offsets(
    cluster: Cluster,
    timestamps: Mapping[TopicPartition, int],
    *,
    read_committed: bool,
    deadline_ms: int,
) -> dict[TopicPartition, OffsetAndTimestamp]:
    """Looks up offsets as `list_offsets`, but the first error is raised."""
    found = await list_offsets(
        cluster, timestamps, read_committed=read_committed, deadline_ms=deadline_ms
    )
    results = {}
    for topic_partition, result in found.items():
        if isinstance(result, KafkaError):
            raise result
        results[topic_partition] = result
    return results


async def ask_leader(
    cluster: Cluster,
    node_id: int,
    timestamps: Mapping[TopicPartition, int],
    *,
    read_committed: bool,
) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
    """Asks once, for partitions that the broker leads. Raises what the whole request fails with."""
    request = _request(timestamps, read_committed=read_committed)
    response = await cluster.request(node_id, ApiKey.LIST_OFFSETS, request, ListOffsetsResponse)
    return _answers(timestamps, response)


async def _ask_leaders(
    cluster: Cluster,
    timestamps: Mapping[TopicPartition, int],
    deadline_ms: int,
    *,
    read_committed: bool,
) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
    results: dict[TopicPartition, OffsetAndTimestamp | KafkaError] = {}
    by_leader: dict[int, dict[TopicPartition, int]] = {}
    cluster.use_topics(
        *{partition.topic for partition in timestamps}
    )  # one refresh for all of them
    for topic_partition, timestamp in timestamps.items():
        try:
            await cluster.topic(topic_partition.topic, deadline_ms)
        except KafkaError as error:
            results[topic_partition] = error
            continue
        leader = cluster.snapshot.leader(topic_partition)
        if leader is None:
            results[topic_partition] = LeaderNotAvailable(f"{topic_partition} has no leader")
        else:
            by_leader.setdefault(leader, {})[topic_partition] = timestamp

    async def ask(node_id: int, wanted: dict[TopicPartition, int]) -> None:
        try:
            async with asyncio.timeout(max(0, deadline_ms - cluster.now_ms()) / 1000):
                results.update(
                    await ask_leader(cluster, node_id, wanted, read_committed=read_committed)
                )
        except TimeoutError:
            late = RequestTimedOut(f"broker {node_id} did not say its offsets in time")
            results.update(dict.fromkeys(wanted, late))
        except KafkaError as error:
            results.update(dict.fromkeys(wanted, error))

    await asyncio.gather(*(ask(node_id, wanted) for node_id, wanted in by_leader.items()))
    return results


def _request(wanted: Mapping[TopicPartition, int], *, read_committed: bool) -> ListOffsetsRequest:
    topics: dict[str, ListOffsetsTopic] = {}
    for (topic, partition), timestamp in wanted.items():
        entry = topics.setdefault(topic, ListOffsetsTopic(name=topic))
        entry.partitions.append(
            ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        )
    return ListOffsetsRequest(
        replica_id=-1, isolation_level=int(read_committed), topics=list(topics.values())
    )


def _answers(
    wanted: Mapping[TopicPartition, int], response: ListOffsetsResponse
) -> dict[TopicPartition, OffsetAndTimestamp | KafkaError]:
    answers: dict[TopicPartition, OffsetAndTimestamp | KafkaError] = {}
    for topic in response.topics:
        for partition in topic.partitions:
            topic_partition = TopicPartition(topic.name, partition.partition_index)
            if partition.error_code:
                error = error_for(partition.error_code)
                answers[topic_partition] = error_for(
                    partition.error_code, f"{topic_partition}: {error}"
                )
            else:
                answers[topic_partition] = OffsetAndTimestamp(
                    partition.offset, partition.timestamp, partition.leader_epoch
                )
    missing = error_for(-1, "the broker's answer leaves this partition out")
    return {tp: answers.get(tp, missing) for tp in wanted}
