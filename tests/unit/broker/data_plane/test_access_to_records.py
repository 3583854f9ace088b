"""Which records clients may write, read and remove: a rule for the name, for another operation, for a prefix, for all, against it, and none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from millstream.broker.handlers import (
    delete_records,
    fetch,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from millstream.errors import (
    TopicAuthorizationFailed,
    TransactionalIdAuthorizationFailed,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from millstream.metadata.stored_security import AccessControlEntry
from millstream.model import Uuid
from millstream.protocol.generated.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from millstream.protocol.generated.fetch import FetchPartition, FetchRequest, FetchTopic
from millstream.protocol.generated.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from millstream.protocol.generated.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from millstream.security.acl import CLUSTER_NAME, Operation, ResourceType
from tests.support.access_rules import ALICE, access, rule
from tests.unit.broker.data_plane.conftest import TOPIC_ID, DataPlane

TOPIC: Final = ResourceType.TOPIC
OTHER_ID: Final = Uuid(b"?" * 16)
HIDDEN, UNKNOWN, UNKNOWN_ID = (
    TopicAuthorizationFailed.code,
    UnknownTopicOrPartition.code,
    UnknownTopicId.code,
)
NAMES: Final = ("t", "absent")
READ, WRITE, DELETE, DESCRIBE = (
    Operation.READ,
    Operation.WRITE,
    Operation.DELETE,
    Operation.DESCRIBE,
)


def on(name: str, operation: Operation, **more: Any) -> AccessControlEntry:
    return rule(operation, TOPIC, name, **more)


RULES: Final[
    dict[str, tuple[Callable[[Operation], tuple[AccessControlEntry, ...]], tuple[int, int]]]
] = {
    "none": (lambda _needed: (), (HIDDEN, HIDDEN)),
    "its name": (lambda needed: (on("t", needed),), (0, HIDDEN)),
    "everything with its name": (lambda _needed: (on("t", Operation.ALL),), (0, HIDDEN)),
    "a prefix": (lambda needed: (on("ab", needed, prefixed=True),), (HIDDEN, UNKNOWN)),
    "all": (lambda needed: (on("*", needed),), (0, UNKNOWN)),
    "all but it": (
        lambda needed: (on("*", needed), on("t", needed, deny=True)),
        (HIDDEN, UNKNOWN),
    ),
    "of somebody else": (lambda needed: (on("t", needed, principal="User:bob"),), (HIDDEN, HIDDEN)),
    "from elsewhere": (lambda needed: (on("t", needed, host="10.0.0.1"),), (HIDDEN, HIDDEN)),
    "another operation": (lambda _needed: (on("t", Operation.DESCRIBE_CONFIGS),), (HIDDEN, HIDDEN)),
}


async def answered(plane: DataPlane, handler: Any, request: Any, version: int) -> Any:
    answer = plane.ask(handler, request, version, principal=ALICE)
    return await answer if hasattr(answer, "__await__") else answer


async def produced(plane: DataPlane) -> tuple[int, ...]:
    data = [PartitionProduceData(0, plane.batch(b"v"))]
    request = ProduceRequest(
        acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(n, partition_data=data) for n in NAMES]
    )  # fmt: skip
    told = {t.name: t for t in (await answered(plane, produce, request, 9)).responses}
    return tuple(told[name].partition_responses[0].error_code for name in NAMES)


async def fetched(plane: DataPlane) -> tuple[int, ...]:
    asked = [FetchPartition(partition=0, partition_max_bytes=100)]
    request = FetchRequest(
        max_wait_ms=0, max_bytes=100, session_epoch=-1, topics=[FetchTopic(topic=n, partitions=asked) for n in NAMES]
    )  # fmt: skip
    told = {t.topic: t for t in (await answered(plane, fetch, request, 12)).responses}
    return tuple(told[name].partitions[0].error_code for name in NAMES)


async def listed(plane: DataPlane) -> tuple[int, ...]:
    asked = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=n, partitions=asked) for n in NAMES]
    )
    answer = await answered(plane, list_offsets, request, 7)
    return tuple(t.partitions[0].error_code for t in answer.topics)


async def deleted(plane: DataPlane) -> tuple[int, ...]:
    asked = [DeleteRecordsPartition(0, 0)]
    request = DeleteRecordsRequest([DeleteRecordsTopic(n, asked) for n in NAMES], 1_000)
    told = {t.name: t for t in (await answered(plane, delete_records, request, 2)).topics}
    return tuple(told[name].partitions[0].error_code for name in NAMES)


async def epoch_ends(plane: DataPlane) -> tuple[int, ...]:
    asked = [OffsetForLeaderPartition(partition=0, leader_epoch=3)]
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[OffsetForLeaderTopic(n, asked) for n in NAMES]
    )
    told = {t.topic: t for t in (await answered(plane, offset_for_leader_epoch, request, 4)).topics}
    return tuple(told[name].partitions[0].error_code for name in NAMES)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    ("ask", "needed"),
    [(produced, WRITE), (fetched, READ), (listed, DESCRIBE), (deleted, DELETE), (epoch_ends, DESCRIBE)],
    ids=["Produce", "Fetch", "ListOffsets", "DeleteRecords", "OffsetForLeaderEpoch"],
)  # fmt: skip
async def test_a_rule_decides(plane: DataPlane, ask: Any, needed: Operation, rules: str) -> None:
    made, expected = RULES[rules]
    plane.give(access=access(*made(needed)))
    assert await ask(plane) == expected


@pytest.mark.parametrize("more", [READ, WRITE, DELETE, Operation.ALTER])
async def test_what_implies_describe(plane: DataPlane, more: Operation) -> None:
    plane.give(access=access(on("t", more)))
    assert await listed(plane) == (0, HIDDEN)
    assert await epoch_ends(plane) == (0, HIDDEN)


async def test_what_is_refused_is_not_written(plane: DataPlane) -> None:
    plane.give(access=access(on("t", DESCRIBE)))
    assert await produced(plane) == (HIDDEN, HIDDEN)
    assert plane.get("t", 0).log_end_offset == 0


async def test_by_topic_id_a_topic_that_may_not_be_read_is_told_from_one_that_is_not_there(
    plane: DataPlane,
) -> None:
    asked = [FetchPartition(partition=0, partition_max_bytes=100)]
    request = FetchRequest(
        max_wait_ms=0, max_bytes=100, session_epoch=-1,
        topics=[FetchTopic(topic_id=each, partitions=asked) for each in (TOPIC_ID, OTHER_ID)],
    )  # fmt: skip
    plane.give(access=access())
    answer = await answered(plane, fetch, request, 13)
    told = {t.topic_id: t.partitions[0].error_code for t in answer.responses}
    assert told == {TOPIC_ID: HIDDEN, OTHER_ID: UNKNOWN_ID}


async def test_a_follower_may_read_everything_or_nothing(plane: DataPlane) -> None:
    asked = [FetchPartition(partition=0, partition_max_bytes=100)]
    request = FetchRequest(
        replica_id=1, max_wait_ms=0, max_bytes=100, session_epoch=-1, topics=[FetchTopic(topic="t", partitions=asked)]
    )  # fmt: skip

    async def told(*rules: AccessControlEntry) -> int:
        plane.give(access=access(*rules))
        answer = await answered(plane, fetch, request, 12)
        return int(answer.responses[0].partitions[0].error_code)

    assert await told(on("t", READ)) == HIDDEN
    action = rule(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
    assert await told(action) != HIDDEN


async def test_a_transactional_batch_needs_its_transactional_id(plane: DataPlane) -> None:
    records = plane.batch(
        b"v", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    request = ProduceRequest(
        transactional_id="tx", acks=-1, timeout_ms=1_000,
        topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, records)])],
    )  # fmt: skip
    plane.give(access=access(on("t", WRITE)))
    with pytest.raises(TransactionalIdAuthorizationFailed):
        await answered(plane, produce, request, 9)
    plane.give(access=access(on("t", WRITE), rule(WRITE, ResourceType.TRANSACTIONAL_ID, "other")))
    with pytest.raises(TransactionalIdAuthorizationFailed):
        await answered(plane, produce, request, 9)
    assert plane.get("t", 0).log_end_offset == 0
