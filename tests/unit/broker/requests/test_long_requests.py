"""Long requests are cut into parts, and the answers of the parts are one answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from millstream.broker.requests.api_spec import ApiSpec, Lists, Path
from millstream.broker.requests.long_requests import has_long_lists, in_parts, joined
from millstream.broker.requests.registry import BROKER_HANDLERS, CONTROLLER_HANDLERS, HANDLERS
from millstream.errors import PolicyViolation
from millstream.protocol.api import ApiKey, request_class, response_class
from millstream.protocol.diagnosis import schema_of
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from millstream.protocol.generated.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from millstream.protocol.generated.metadata import MetadataRequest, MetadataRequestTopic
from millstream.protocol.generated.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from millstream.protocol.generated.offset_delete import OffsetDeleteResponse
from millstream.protocol.json_form import struct_class

APIS = [each.api for each in (*BROKER_HANDLERS.values(), *CONTROLLER_HANDLERS.values())]
CUT = [(key, lists) for key, handler in HANDLERS.items() for lists in handler.api.lists]


def spec(key: ApiKey) -> ApiSpec:
    return HANDLERS[key].api


def commit(*counts: int) -> OffsetCommitRequest:
    """Topic `t0`, `t1`... with that many partitions each."""
    return OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequestTopic(
                name=f"t{topic}",
                partitions=[OffsetCommitRequestPartition(number) for number in range(count)],
            )
            for topic, count in enumerate(counts)
        ],
    )


def parts_of(request: OffsetCommitRequest) -> list[list[tuple[str, int]]]:
    """Of each part the topics, with the number of their partitions."""
    cut = in_parts(request, spec(ApiKey.OFFSET_COMMIT))
    assert cut is not None
    return [[(topic.name, len(topic.partitions)) for topic in part.topics] for part in cut[1]]


def answer_to(request: Any) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetCommitResponsePartition(p.partition_index) for p in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def test_a_short_request_stays_whole() -> None:
    assert in_parts(commit(50, 50, 100), spec(ApiKey.OFFSET_COMMIT)) is None
    assert in_parts(commit(), spec(ApiKey.OFFSET_COMMIT)) is None


def test_topics_are_cut_where_they_are_too_long() -> None:
    assert parts_of(commit(450)) == [[("t0", 200)], [("t0", 200)], [("t0", 50)]]
    assert parts_of(commit(150, 150, 0, 49)) == [
        [("t0", 150)],
        [("t1", 150), ("t2", 0), ("t3", 49)],
    ]
    assert parts_of(commit(*[1] * 401)) == [
        [(f"t{number}", 1) for number in range(begin, min(begin + 200, 401))]
        for begin in (0, 200, 400)
    ]


def test_what_is_beside_the_list_is_in_every_part_and_the_request_is_left_alone() -> None:
    request = commit(450)
    cut = in_parts(request, spec(ApiKey.OFFSET_COMMIT))
    assert cut is not None
    assert [part.group_id for part in cut[1]] == ["g", "g", "g"]  # type: ignore[attr-defined]  # Message
    assert request == commit(450)


@pytest.mark.parametrize("counts", [(1_000,), (300, 300, 0, 99), (1,) * 801, (399, 2, 1_203, 0, 5)])
def test_the_answers_of_the_parts_are_one_answer_in_the_order_of_the_request(
    counts: tuple[int, ...],
) -> None:
    request = commit(*counts)
    cut = in_parts(request, spec(ApiKey.OFFSET_COMMIT))
    assert cut is not None
    lists, parts = cut
    assert joined([answer_to(part) for part in parts], lists) == answer_to(request)


def test_an_error_of_the_whole_is_the_answer() -> None:
    lists = spec(ApiKey.OFFSET_DELETE).lists[0]
    refused = OffsetDeleteResponse(error_code=69)
    assert joined([OffsetDeleteResponse(), refused, OffsetDeleteResponse()], lists) is refused


def test_a_request_for_everything_is_whole() -> None:
    assert in_parts(MetadataRequest(topics=None), spec(ApiKey.METADATA)) is None


def test_a_list_of_values_is_cut() -> None:
    topics = [MetadataRequestTopic(name=str(number)) for number in range(450)]
    cut = in_parts(MetadataRequest(topics=topics), spec(ApiKey.METADATA))
    assert cut is not None
    assert [len(part.topics) for part in cut[1]] == [50] * 9  # type: ignore[attr-defined]  # Message


def test_parts_do_not_get_what_the_whole_would_be_refused() -> None:
    """Kafka 4.3.1 refuses 9000 topics of one partition: 18000 records."""
    topics = [CreatableTopic(name=str(number), num_partitions=1) for number in range(9_000)]
    with pytest.raises(PolicyViolation, match="excessively large batch operation"):
        in_parts(CreateTopicsRequest(topics=topics), spec(ApiKey.CREATE_TOPICS))
    assert (
        in_parts(CreateTopicsRequest(topics=topics[:5_000]), spec(ApiKey.CREATE_TOPICS)) is not None
    )


def _lists(kind: type, layout: Any) -> Iterator[Path]:
    for each in layout.fields:
        if each.is_array:
            yield (each.attribute,)
        if each.struct is not None:
            for inner in _lists(struct_class(kind, each.attribute), each.struct):
                yield (each.attribute, *inner)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.key.name)
def test_every_list_that_a_client_may_fill_is_cut_or_has_a_reason_not_to_be(api: ApiSpec) -> None:
    kind = request_class(api.key)
    has_lists = any(_lists(kind, schema_of(kind).root))
    assert bool(api.lists) + bool(api.kept_whole) == has_lists


@pytest.mark.parametrize(("key", "lists"), CUT)
def test_a_cut_goes_where_the_messages_have_lists(key: ApiKey, lists: Lists) -> None:
    for kind, path in ((request_class(key), lists.asked), (response_class(key), lists.answered)):
        assert path in set(_lists(kind, schema_of(kind).root))


@pytest.mark.parametrize(
    "api", [api for api in APIS if api.answer_lists], ids=lambda api: api.key.name
)
def test_elements_of_an_answer_are_looked_for_where_it_has_lists(api: ApiSpec) -> None:
    kind = response_class(api.key)
    assert api.tells_all
    assert api.answer_lists in set(_lists(kind, schema_of(kind).root))


@pytest.mark.parametrize(("count", "is_long"), [(1_000, False), (1_001, True)])
def test_a_long_answer_is_seen_however_deep_its_elements_are(count, is_long):
    fetched = FetchResponse(
        responses=[FetchableTopicResponse(partitions=[PartitionData()] * count)]
    )
    assert has_long_lists(fetched, spec(ApiKey.FETCH)) is is_long
    topic = DescribeLogDirsTopic(partitions=[DescribeLogDirsPartition()] * count)
    described = DescribeLogDirsResponse(results=[DescribeLogDirsResult(topics=[topic])])
    assert has_long_lists(described, spec(ApiKey.DESCRIBE_LOG_DIRS)) is is_long
