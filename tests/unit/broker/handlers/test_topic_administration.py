"""The handlers that pass on to the controller, and what they add."""

from __future__ import annotations

import pytest

from millstream.broker.handlers import (
    create_partitions,
    create_topics,
    delete_topics,
    incremental_alter_configs,
)
from millstream.protocol.generated.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from millstream.protocol.generated.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC_DELETION_DISABLED, INVALID_REQUEST = 73, 42


def test_topics_are_created_grown_altered_and_deleted(node: object) -> None:
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    created = node.answer(create_topics.handle, CreateTopicsRequest(topics=[topic]), 7)
    assert created.topics[0].error_code == 0
    growth = CreatePartitionsTopic(name="t", count=3, assignments=None)
    grown = node.answer(create_partitions.handle, CreatePartitionsRequest(topics=[growth]), 3)
    assert (grown.results[0].error_code, len(node.live.image.topic("t").partitions)) == (0, 3)
    change = AlterConfigsResource(
        resource_type=2,
        resource_name="t",
        configs=[AlterableConfig(name="retention.ms", value="5")],
    )
    altered = node.answer(
        incremental_alter_configs.handle, IncrementalAlterConfigsRequest(resources=[change]), 1
    )
    assert (altered.responses[0].error_code, node.live.image.topic_config("t")) == (
        0,
        {"retention.ms": "5"},
    )
    deleted = node.answer(delete_topics.handle, DeleteTopicsRequest(topic_names=["t"]), 5)
    assert (deleted.responses[0].error_code, len(node.live.image.topics)) == (0, 0)


@pytest.mark.parametrize(
    ("version", "code"), [(1, INVALID_REQUEST), (2, INVALID_REQUEST), (3, TOPIC_DELETION_DISABLED)]
)
def test_old_clients_do_not_know_that_deletion_is_disabled(
    node: object, version: int, code: int
) -> None:
    async def refuse(api: object, request: object, caller: object) -> object:
        result = DeletableTopicResult(name="t", error_code=TOPIC_DELETION_DISABLED)
        return DeleteTopicsResponse(responses=[result])

    node.ask = refuse
    response = node.answer(delete_topics.handle, DeleteTopicsRequest(topic_names=["t"]), version)
    assert response.responses[0].error_code == code
