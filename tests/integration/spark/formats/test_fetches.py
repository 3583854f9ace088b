"""What a query's fetches ask for, and what becomes of the query when one fails: seen and caused by a proxy before the broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millstream.errors import KafkaStorageError, NotLeaderOrFollower, TopicAuthorizationFailed
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_request
from millstream.protocol.generated.fetch import FetchRequest
from millstream.protocol.generated.headers import RequestHeader
from millstream.testing.faults.connection import FaultConnection
from millstream.testing.faults.plan import (
    AnswerWith,
    CloseAfter,
    CloseBefore,
    DropResponse,
    Fault,
    Rule,
    SeenRequest,
)
from millstream.testing.faults.proxy import FaultProxy

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300)]
VALUES = [b"0", b"1", b"2"]


@pytest.fixture
def topic(topics: Any) -> str:
    name: str = topics.new("fetched")
    topics.put(name, [{"value": value} for value in VALUES])
    return name


@pytest.fixture
def fetches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[RequestHeader, FetchRequest]]:
    """Every fetch that passes the proxy, as it was on the wire."""
    found: list[tuple[RequestHeader, FetchRequest]] = []
    seen = FaultConnection._seen

    def see(self: FaultConnection, header: RequestHeader, frame: bytes) -> SeenRequest:
        request = seen(self, header, frame)
        if request.key is ApiKey.FETCH:
            _, message = decode_request(memoryview(frame))
            assert isinstance(message, FetchRequest)
            found.append((header, message))
        return request

    monkeypatch.setattr(FaultConnection, "_seen", see)
    return found


def ended(spark: Any, proxy: FaultProxy, topic: str, directory: Path, **options: str) -> list[Any]:
    """The rows of a streaming query over what is there."""
    given = {"bootstrap.servers": proxy.bootstrap_servers, "startingOffsets": "earliest"}
    stream = spark.readStream.format("millstream").options(subscribe=topic, **given, **options)
    query = (
        stream.load()
        .writeStream.format("memory")
        .queryName(f"fetched_{topic.replace('-', '_')}")
        .option("checkpointLocation", str(directory))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(250)
    rows: list[Any] = spark.table(query.name).select("value").collect()
    return sorted(bytes(row.value) for row in rows)


def test_a_fetch_names_topic_partition_and_offset_with_the_sizes_and_times_of_its_settings(
    spark: Any,
    topics: Any,
    topic: str,
    tmp_path: Path,
    fetches: list[tuple[RequestHeader, FetchRequest]],
) -> None:
    with FaultProxy(topics.bootstrap_servers) as proxy:
        options = {
            "kafka.client.id": "me",
            "kafka.fetch.max.wait.ms": "77",
            "kafka.max.partition.fetch.bytes": "12345",
            "kafka.fetch.max.bytes": "54321",
        }
        assert ended(spark, proxy, topic, tmp_path, **options) == VALUES
    assert fetches
    header, first = fetches[0]
    (asked,) = (each for each in first.topics)
    (partition,) = asked.partitions
    assert header.client_id is not None
    assert header.client_id.startswith("me")
    assert (first.max_wait_ms, first.max_bytes) == (77, 54_321)
    assert (partition.partition, partition.fetch_offset) == (0, 0)
    assert all(
        each.partition_max_bytes <= 12_345
        for _, request in fetches
        for found in request.topics
        for each in found.partitions
    )


@pytest.mark.parametrize(
    "fault",
    [
        CloseBefore(),
        CloseAfter(),
        DropResponse(),
        AnswerWith(NotLeaderOrFollower.code),
        AnswerWith(KafkaStorageError.code),
    ],
    ids=["closed before", "closed after", "silent", "not the leader", "a broken disk"],
)
def test_a_fetch_that_fails_for_now_is_made_again_and_no_row_is_missing_or_twice(
    spark: Any, topics: Any, topic: str, tmp_path: Path, fault: Fault
) -> None:
    rule = Rule(fault, apis=[ApiKey.FETCH], times=1)
    with FaultProxy(topics.bootstrap_servers, [rule]) as proxy:
        options = {"kafka.request.timeout.ms": "2000"}
        assert ended(spark, proxy, topic, tmp_path, **options) == VALUES
        assert proxy.plan.hits == (1,)


def test_a_fetch_that_fails_for_good_ends_the_query_with_its_cause(
    spark: Any, topics: Any, topic: str, tmp_path: Path
) -> None:
    rule = Rule(AnswerWith(TopicAuthorizationFailed.code), apis=[ApiKey.FETCH])
    with FaultProxy(topics.bootstrap_servers, [rule]) as proxy:
        with pytest.raises(Exception, match=r"millstream\.errors\.TopicAuthorizationFailed: "):
            ended(spark, proxy, topic, tmp_path)
        assert proxy.plan.hits[0] < 50
