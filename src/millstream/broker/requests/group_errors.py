"""What the APIs of consumer and share groups answer when a whole request failed: the error in every group or partition asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from millstream.errors import KafkaError
from millstream.protocol.api import ApiKey
from millstream.protocol.generated import (
    consumer_group_describe,
    delete_share_group_state,
    describe_share_group_offsets,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    share_group_describe,
    write_share_group_state,
)

_Build = Callable[[Any, KafkaError], Any]  # Any: request and response of the key it stands under


def _consumer_group_describe(
    request: consumer_group_describe.ConsumerGroupDescribeRequest, error: KafkaError
) -> consumer_group_describe.ConsumerGroupDescribeResponse:
    return consumer_group_describe.ConsumerGroupDescribeResponse(
        groups=[
            consumer_group_describe.DescribedGroup(
                group_id=group_id, error_code=error.code, error_message=str(error)
            )
            for group_id in request.group_ids
        ]
    )


def _share_group_describe(
    request: share_group_describe.ShareGroupDescribeRequest, error: KafkaError
) -> share_group_describe.ShareGroupDescribeResponse:
    return share_group_describe.ShareGroupDescribeResponse(
        groups=[
            share_group_describe.DescribedGroup(
                group_id=group_id, error_code=error.code, error_message=str(error)
            )
            for group_id in request.group_ids
        ]
    )


def _describe_share_group_offsets(
    request: describe_share_group_offsets.DescribeShareGroupOffsetsRequest, error: KafkaError
) -> describe_share_group_offsets.DescribeShareGroupOffsetsResponse:
    return describe_share_group_offsets.DescribeShareGroupOffsetsResponse(
        groups=[
            describe_share_group_offsets.DescribeShareGroupOffsetsResponseGroup(
                group_id=group.group_id, error_code=error.code, error_message=str(error)
            )
            for group in request.groups
        ]
    )


def _share_state(
    response: Callable[..., Any],  # Any: classes of one API, all of one shape
    topic: Callable[..., Any],  # Any: see above
    partition: Callable[..., Any],  # Any: see above
) -> _Build:
    def build(request: Any, error: KafkaError) -> Any:  # Any: see above
        return response(
            results=[
                topic(
                    topic_id=asked.topic_id,
                    partitions=[
                        partition(
                            partition=each.partition,
                            error_code=error.code,
                            error_message=str(error),
                        )
                        for each in asked.partitions
                    ],
                )
                for asked in request.topics
            ]
        )

    return build


GROUPS: Final[Mapping[ApiKey, _Build]] = MappingProxyType(
    {
        ApiKey.CONSUMER_GROUP_DESCRIBE: _consumer_group_describe,
        ApiKey.SHARE_GROUP_DESCRIBE: _share_group_describe,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _describe_share_group_offsets,
        ApiKey.INITIALIZE_SHARE_GROUP_STATE: _share_state(
            initialize_share_group_state.InitializeShareGroupStateResponse,
            initialize_share_group_state.InitializeStateResult,
            initialize_share_group_state.PartitionResult,
        ),
        ApiKey.READ_SHARE_GROUP_STATE: _share_state(
            read_share_group_state.ReadShareGroupStateResponse,
            read_share_group_state.ReadStateResult,
            read_share_group_state.PartitionResult,
        ),
        ApiKey.WRITE_SHARE_GROUP_STATE: _share_state(
            write_share_group_state.WriteShareGroupStateResponse,
            write_share_group_state.WriteStateResult,
            write_share_group_state.PartitionResult,
        ),
        ApiKey.DELETE_SHARE_GROUP_STATE: _share_state(
            delete_share_group_state.DeleteShareGroupStateResponse,
            delete_share_group_state.DeleteStateResult,
            delete_share_group_state.PartitionResult,
        ),
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: _share_state(
            read_share_group_state_summary.ReadShareGroupStateSummaryResponse,
            read_share_group_state_summary.ReadStateSummaryResult,
            read_share_group_state_summary.PartitionResult,
        ),
    }
)
