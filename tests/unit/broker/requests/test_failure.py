from __future__ import annotations

import pytest

from millstream.broker.requests.api_spec import NoAnswer
from millstream.broker.requests.registry import HANDLERS, error_response
from millstream.errors import ClusterAuthorizationFailed, InvalidTopic
from millstream.protocol.api import ApiKey, request_class, response_class
from millstream.protocol.generated.create_topics import CreatableTopic, CreateTopicsRequest
from millstream.protocol.generated.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from millstream.protocol.generated.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from millstream.protocol.generated.heartbeat import HeartbeatRequest, HeartbeatResponse
from millstream.protocol.generated.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from millstream.protocol.generated.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from tests.filled_requests import error_codes, filled_request

FIRST_WITH_A_PLACE = {ApiKey.DESCRIBE_LOG_DIRS: 3}
"""Before, the answer has no place for an error of the whole request, in Kafka either."""
REFUSED = ClusterAuthorizationFailed("not for you")


@pytest.mark.parametrize("key", HANDLERS, ids=lambda key: key.name)
def test_every_served_api_can_say_that_a_whole_request_failed(key: ApiKey) -> None:
    """In every version, as bytes."""
    for version in HANDLERS[key].api.versions:
        asked = filled_request(request_class(key), version, "group")
        encoded = bytearray()
        error_response(key, version, asked, REFUSED).encode(encoded, version)
        read = response_class(key).decode(memoryview(encoded), 0, version)[0]
        expected = {REFUSED.code} if version >= FIRST_WITH_A_PLACE.get(key, 0) else set()
        assert set(error_codes(read)) - {0} == expected, f"v{version}: {read}"


def test_an_api_with_a_top_level_error_has_it_there() -> None:
    answer = error_response(ApiKey.HEARTBEAT, 4, HeartbeatRequest(), REFUSED)
    assert answer == HeartbeatResponse(error_code=31)


def test_an_api_without_one_has_it_in_every_item() -> None:
    asked = TopicProduceData(
        name="t", partition_data=[PartitionProduceData(3), PartitionProduceData(4)]
    )
    answer = error_response(ApiKey.PRODUCE, 9, ProduceRequest(acks=1, topic_data=[asked]), REFUSED)
    assert isinstance(answer, ProduceResponse)
    (topic,) = answer.responses
    assert [
        (each.index, each.error_code, each.base_offset) for each in topic.partition_responses
    ] == [
        (3, 31, -1),
        (4, 31, -1),
    ]


def test_an_error_that_quotes_a_name_of_any_length_fits_into_its_answer() -> None:
    name = "x" * 32_767
    asked = CreateTopicsRequest(topics=[CreatableTopic(name=name)])
    answer = error_response(ApiKey.CREATE_TOPICS, 4, asked, InvalidTopic(f"{name} is no name"))
    out = bytearray()
    answer.encode(out, 4)
    assert len(out) < 3 * 32_767


def test_a_produce_that_wants_no_answer_gets_none() -> None:
    with pytest.raises(NoAnswer):
        error_response(ApiKey.PRODUCE, 9, ProduceRequest(acks=0), REFUSED)


def test_a_refused_producer_gets_no_id_and_no_epoch() -> None:
    answer = error_response(ApiKey.INIT_PRODUCER_ID, 4, InitProducerIdRequest(), REFUSED)
    assert answer == InitProducerIdResponse(error_code=31, producer_id=-1, producer_epoch=-1)


def test_an_api_that_got_one_later_has_it_where_the_version_has_it() -> None:
    asked = FetchRequest(topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=5)])])
    old = error_response(ApiKey.FETCH, 6, asked, REFUSED)
    new = error_response(ApiKey.FETCH, 7, asked, REFUSED)
    assert isinstance(old, FetchResponse)
    assert old.responses[0].partitions[0].error_code == 31
    assert new == FetchResponse(error_code=31)


def test_a_list_of_coordinators_names_each_key() -> None:
    request = FindCoordinatorRequest(coordinator_keys=["a", "b"])
    answer = error_response(ApiKey.FIND_COORDINATOR, 4, request, REFUSED)
    assert isinstance(answer, FindCoordinatorResponse)
    assert [(each.key, each.error_code, each.error_message) for each in answer.coordinators] == [
        ("a", 31, "not for you"),
        ("b", 31, "not for you"),
    ]
