"""The response that says a whole request failed: the API's top-level error, or the error in every item it asked for.

One mapping per API without a top-level error code, or whose other fields say something in an error too; the others have
`error_code` and perhaps `error_message`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from millstream.broker.requests import transaction_errors
from millstream.broker.requests.group_errors import GROUPS
from millstream.broker.requests.log_dir_errors import LOG_DIRS
from millstream.broker.requests.refusals import ADMINISTRATION, elect_leaders_failed
from millstream.errors import KafkaError, ProtocolError
from millstream.protocol.api import ApiKey, Message, response_class
from millstream.protocol.generated import (
    alter_configs,
    create_partitions,
    create_topics,
    delete_groups,
    delete_topics,
    describe_configs,
    describe_groups,
    describe_topic_partitions,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    init_producer_id,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    streams_group_describe,
)

# Any: request and response are the generated classes of the key they stand under; no type joins a key to its classes.
_Build = Callable[[Any, KafkaError], Message]  # Any: see above
_BuildForVersion = Callable[[Any, int, KafkaError], Message]  # Any: see above


class NoAnswer(ProtocolError):
    """The request failed and its client wants no answer: it hears of it by its connection being closed."""


def error_response(key: ApiKey, version: int, request: Message, error: KafkaError) -> Message:
    """The response of API `key` that tells the client that all of `request` failed with `error`. Raises NoAnswer."""
    if key in _ERROR_IN_ITEMS:
        return _ERROR_IN_ITEMS[key](request, error)
    if key in _ERROR_BY_VERSION:
        return _ERROR_BY_VERSION[key](request, version, error)
    response: Any = response_class(key)()  # Any: every class that comes here has an error_code
    response.error_code = error.code
    if hasattr(response, "error_message"):
        response.error_message = str(error)
    return response  # type: ignore[no-any-return]  # it is an instance of response_class(key)


def _produce(request: produce.ProduceRequest, error: KafkaError) -> produce.ProduceResponse:
    if request.acks == 0:
        raise NoAnswer(f"a produce with acks=0 failed: {error}")
    return produce.ProduceResponse(
        responses=[
            produce.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    produce.PartitionProduceResponse(
                        index=data.index,
                        error_code=error.code,
                        base_offset=-1,
                        error_message=error.detail,
                    )
                    for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _fetch(request: fetch.FetchRequest, version: int, error: KafkaError) -> fetch.FetchResponse:
    """From version 7 on the top-level error says it all."""
    if version >= 7:
        return fetch.FetchResponse(error_code=error.code)
    return fetch.FetchResponse(
        responses=[
            fetch.FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    fetch.PartitionData(
                        partition_index=asked.partition, error_code=error.code, high_watermark=-1
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _list_offsets(
    request: list_offsets.ListOffsetsRequest, error: KafkaError
) -> list_offsets.ListOffsetsResponse:
    return list_offsets.ListOffsetsResponse(
        topics=[
            list_offsets.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    list_offsets.ListOffsetsPartitionResponse(
                        partition_index=asked.partition_index, error_code=error.code
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _metadata(
    request: metadata.MetadataRequest, version: int, error: KafkaError
) -> metadata.MetadataResponse:
    return metadata.MetadataResponse(
        error_code=error.code,
        topics=[
            metadata.MetadataResponseTopic(
                error_code=error.code,
                name=topic.name if version >= 12 else topic.name or "",
                topic_id=topic.topic_id,
            )
            for topic in request.topics or ()
        ],
    )


def _offset_commit(
    request: offset_commit.OffsetCommitRequest, error: KafkaError
) -> offset_commit.OffsetCommitResponse:
    return offset_commit.OffsetCommitResponse(
        topics=[
            offset_commit.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    offset_commit.OffsetCommitResponsePartition(
                        partition_index=asked.partition_index, error_code=error.code
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offset_fetch(
    request: offset_fetch.OffsetFetchRequest, version: int, error: KafkaError
) -> offset_fetch.OffsetFetchResponse:
    if version >= 8:
        return offset_fetch.OffsetFetchResponse(
            groups=[
                offset_fetch.OffsetFetchResponseGroup(
                    group_id=group.group_id, error_code=error.code
                )
                for group in request.groups
            ]
        )
    if version >= 2:
        return offset_fetch.OffsetFetchResponse(error_code=error.code)
    return offset_fetch.OffsetFetchResponse(
        topics=[
            offset_fetch.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    offset_fetch.OffsetFetchResponsePartition(
                        partition_index=index,
                        committed_offset=-1,
                        metadata="",
                        error_code=error.code,
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


def _offset_for_leader_epoch(
    request: offset_for_leader_epoch.OffsetForLeaderEpochRequest, error: KafkaError
) -> offset_for_leader_epoch.OffsetForLeaderEpochResponse:
    return offset_for_leader_epoch.OffsetForLeaderEpochResponse(
        topics=[
            offset_for_leader_epoch.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    offset_for_leader_epoch.EpochEndOffset(
                        error_code=error.code, partition=asked.partition
                    )
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _init_producer_id(
    _request: init_producer_id.InitProducerIdRequest, error: KafkaError
) -> init_producer_id.InitProducerIdResponse:
    return init_producer_id.InitProducerIdResponse(
        error_code=error.code, producer_id=-1, producer_epoch=-1
    )


def _find_coordinator(
    request: find_coordinator.FindCoordinatorRequest, version: int, error: KafkaError
) -> find_coordinator.FindCoordinatorResponse:
    if version < 4:
        return find_coordinator.FindCoordinatorResponse(
            error_code=error.code, error_message=str(error), node_id=-1, port=-1
        )
    return find_coordinator.FindCoordinatorResponse(
        coordinators=[
            find_coordinator.Coordinator(
                key=key, node_id=-1, port=-1, error_code=error.code, error_message=str(error)
            )
            for key in request.coordinator_keys
        ]
    )


def _create_topics(
    request: create_topics.CreateTopicsRequest, error: KafkaError
) -> create_topics.CreateTopicsResponse:
    return create_topics.CreateTopicsResponse(
        topics=[
            create_topics.CreatableTopicResult(
                name=topic.name, error_code=error.code, error_message=str(error)
            )
            for topic in request.topics
        ]
    )


def _delete_topics(
    request: delete_topics.DeleteTopicsRequest, version: int, error: KafkaError
) -> delete_topics.DeleteTopicsResponse:
    named = [delete_topics.DeleteTopicState(name=name) for name in request.topic_names]
    return delete_topics.DeleteTopicsResponse(
        responses=[
            delete_topics.DeletableTopicResult(
                name=topic.name,
                topic_id=topic.topic_id,
                error_code=error.code,
                error_message=str(error),
            )
            for topic in (request.topics if version >= 6 else named)
        ]
    )


def _create_partitions(
    request: create_partitions.CreatePartitionsRequest, error: KafkaError
) -> create_partitions.CreatePartitionsResponse:
    return create_partitions.CreatePartitionsResponse(
        results=[
            create_partitions.CreatePartitionsTopicResult(
                name=topic.name, error_code=error.code, error_message=str(error)
            )
            for topic in request.topics
        ]
    )


def _describe_configs(
    request: describe_configs.DescribeConfigsRequest, error: KafkaError
) -> describe_configs.DescribeConfigsResponse:
    return describe_configs.DescribeConfigsResponse(
        results=[
            describe_configs.DescribeConfigsResult(
                error_code=error.code,
                error_message=str(error),
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _incremental_alter_configs(
    request: incremental_alter_configs.IncrementalAlterConfigsRequest,
    error: KafkaError,
) -> incremental_alter_configs.IncrementalAlterConfigsResponse:
    return incremental_alter_configs.IncrementalAlterConfigsResponse(
        responses=[
            incremental_alter_configs.AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=str(error),
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _alter_configs(
    request: alter_configs.AlterConfigsRequest, error: KafkaError
) -> alter_configs.AlterConfigsResponse:
    return alter_configs.AlterConfigsResponse(
        responses=[
            alter_configs.AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=str(error),
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _describe_groups(
    request: describe_groups.DescribeGroupsRequest, version: int, error: KafkaError
) -> describe_groups.DescribeGroupsResponse:
    message = str(error) if version >= 6 else None
    return describe_groups.DescribeGroupsResponse(
        groups=[
            describe_groups.DescribedGroup(
                error_code=error.code, error_message=message, group_id=group
            )
            for group in request.groups
        ]
    )


def _streams_group_describe(
    request: streams_group_describe.StreamsGroupDescribeRequest, error: KafkaError
) -> streams_group_describe.StreamsGroupDescribeResponse:
    return streams_group_describe.StreamsGroupDescribeResponse(
        groups=[
            streams_group_describe.DescribedGroup(error_code=error.code, group_id=group)
            for group in request.group_ids
        ]
    )


def _delete_groups(
    request: delete_groups.DeleteGroupsRequest, error: KafkaError
) -> delete_groups.DeleteGroupsResponse:
    return delete_groups.DeleteGroupsResponse(
        results=[
            delete_groups.DeletableGroupResult(group_id=group, error_code=error.code)
            for group in request.groups_names
        ]
    )


def _describe_topic_partitions(
    request: describe_topic_partitions.DescribeTopicPartitionsRequest,
    error: KafkaError,
) -> describe_topic_partitions.DescribeTopicPartitionsResponse:
    return describe_topic_partitions.DescribeTopicPartitionsResponse(
        topics=[
            describe_topic_partitions.DescribeTopicPartitionsResponseTopic(
                error_code=error.code, name=topic.name
            )
            for topic in request.topics
        ]
    )


_ERROR_IN_ITEMS: Final[Mapping[ApiKey, _Build]] = MappingProxyType(
    {
        **ADMINISTRATION,
        **GROUPS,
        **LOG_DIRS,
        ApiKey.PRODUCE: _produce,
        ApiKey.LIST_OFFSETS: _list_offsets,
        ApiKey.OFFSET_COMMIT: _offset_commit,
        ApiKey.CREATE_TOPICS: _create_topics,
        ApiKey.CREATE_PARTITIONS: _create_partitions,
        ApiKey.DESCRIBE_CONFIGS: _describe_configs,
        ApiKey.ALTER_CONFIGS: _alter_configs,
        ApiKey.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
        ApiKey.INIT_PRODUCER_ID: _init_producer_id,
        ApiKey.TXN_OFFSET_COMMIT: transaction_errors.txn_offset_commit_failed,
        ApiKey.WRITE_TXN_MARKERS: transaction_errors.write_txn_markers_failed,
        ApiKey.DESCRIBE_TRANSACTIONS: transaction_errors.describe_transactions_failed,
        ApiKey.DESCRIBE_PRODUCERS: transaction_errors.describe_producers_failed,
        ApiKey.DELETE_GROUPS: _delete_groups,
        ApiKey.STREAMS_GROUP_DESCRIBE: _streams_group_describe,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
    }
)

_ERROR_BY_VERSION: Final[Mapping[ApiKey, _BuildForVersion]] = MappingProxyType(
    {
        ApiKey.FETCH: _fetch,
        ApiKey.ELECT_LEADERS: elect_leaders_failed,
        ApiKey.METADATA: _metadata,
        ApiKey.OFFSET_FETCH: _offset_fetch,
        ApiKey.FIND_COORDINATOR: _find_coordinator,
        ApiKey.DELETE_TOPICS: _delete_topics,
        ApiKey.DESCRIBE_GROUPS: _describe_groups,
        ApiKey.ADD_PARTITIONS_TO_TXN: transaction_errors.add_partitions_failed,
    }
)
"""APIs that got a top-level error code, or items instead of one group or name, in a later version."""
