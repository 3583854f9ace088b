"""A query that starts anew asks no leader that is older than the last one it has read from.

A broker that is cut off from the controllers takes itself for the leader still, and its log may end before what was
read. Here no broker has heard of the election that the checkpoint knows of.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from millstream.clients.blocking import Admin
from millstream.errors import KafkaError
from millstream.model import Offset, TopicPartition
from millstream.spark.source.batch_reader import BatchReader
from millstream.spark.source.options import parse_source_options
from millstream.spark.source.reading import OffsetRange, RangesPartition
from millstream.spark.source.stream_reader import StreamReader
from millstream.streams.runtime.errors import DataLoss

pytestmark = pytest.mark.spark

SOON_MS = "500"
"""What a reader waits here for a leader that does not come."""


def options_of(topics, topic: str, **more: str):
    given = {"bootstrap.servers": topics.bootstrap_servers, "subscribe": topic}
    return parse_source_options(given | {"kafka.default.api.timeout.ms": SOON_MS} | more)


def topic_of_three(topics) -> tuple[str, dict[str, Any]]:
    """A topic, and the checkpoint of a query that has read its three records."""
    topic = topics.new()
    topics.put(topic, [{"value": b"%d" % number} for number in range(3)])
    source = StreamReader(options_of(topics, topic, startingOffsets="earliest"))
    return topic, source.latestOffset(source.initialOffset(), ReadAllAvailable())


def beyond(document: dict[str, Any], *, offset: int, epoch: int) -> dict[str, Any]:
    """A checkpoint that is this far, with the epoch of the leader that it was read from."""
    ((topic, id_),) = document["topicIds"].items()
    return document | {"offsets": {topic: {"0": offset}}, "leaderEpochs": {id_: {"0": epoch}}}


def test_a_checkpoint_says_from_which_leaders_it_was_read(topics) -> None:
    topic, document = topic_of_three(topics)
    assert document["leaderEpochs"] == {document["topicIds"][topic]: {"0": 0}}
    (task,) = BatchReader(options_of(topics, topic, startingOffsets="earliest")).partitions()
    assert [each.leader_epoch for each in task.ranges] == [0]


@pytest.mark.parametrize("policy", ["fail", "latest"])
def test_an_end_that_goes_back_is_waited_for_while_the_leader_is_an_older_one(
    topics, policy: str
) -> None:
    topic, document = topic_of_three(topics)
    source = StreamReader(options_of(topics, topic, failOnDataLoss=policy))
    with pytest.raises(KafkaError) as failed:
        source.latestOffset(beyond(document, offset=5, epoch=1), ReadAllAvailable())
    assert failed.value.retriable, failed.value


def test_an_end_that_goes_back_is_a_loss_where_the_leader_is_the_newest(topics) -> None:
    topic, document = topic_of_three(topics)
    source = StreamReader(options_of(topics, topic))
    with pytest.raises(DataLoss, match="was read up to offset 5 and now ends at 3"):
        source.latestOffset(beyond(document, offset=5, epoch=0), ReadAllAvailable())


def test_the_end_of_available_now_is_asked_for_anew_where_it_is_behind_the_checkpoint(
    topics,
) -> None:
    """It is asked for before Spark says what the checkpoint has."""
    topic, document = topic_of_three(topics)
    source = StreamReader(options_of(topics, topic))
    source.prepareForTriggerAvailableNow()
    topics.put(topic, [{"value": b"3"}])
    source.prepareForTriggerAvailableNow()
    source._last = {TopicPartition(topic, 0): Offset(3)}  # as an older leader would have said
    further = beyond(document, offset=4, epoch=0)
    assert source.latestOffset(further, ReadAllAvailable()) == further


def test_a_micro_batch_that_is_run_again_is_not_given_up_for_an_older_leader(topics) -> None:
    topic, document = topic_of_three(topics)
    source = StreamReader(options_of(topics, topic, failOnDataLoss="earliest"))
    with pytest.raises(KafkaError) as failed:
        source.partitions(document, beyond(document, offset=5, epoch=1))
    assert failed.value.retriable, failed.value


def test_a_task_reads_from_no_leader_that_is_older_than_that_of_its_plan(topics) -> None:
    topic, _ = topic_of_three(topics)
    with Admin(bootstrap_servers=topics.bootstrap_servers) as admin:
        id_ = admin.describe_topics([topic]).result(topic).topic_id
    wanted = OffsetRange(topic, 0, Offset(4), Offset(5), id_, leader_epoch=1)
    source = StreamReader(options_of(topics, topic, failOnDataLoss="skip"))
    with pytest.raises(KafkaError) as failed:
        list(source.read(RangesPartition((wanted,))))
    assert failed.value.retriable, failed.value


def test_a_committed_offset_says_from_which_leader_it_was_read(topics) -> None:
    topic, document = topic_of_three(topics)
    of_group = options_of(topics, topic, **{"group.id": f"{topic}-readers"})
    source = StreamReader(of_group)
    source.latestOffset(document, ReadAllAvailable())
    source.stop()
    tp, group = TopicPartition(topic, 0), f"{topic}-readers"
    with Admin(bootstrap_servers=topics.bootstrap_servers) as admin:
        committed = admin.list_consumer_group_offsets([group]).result(group).result(tp)
        assert (committed.offset, committed.leader_epoch) == (3, 0)
        beyond_the_end = committed._replace(offset=5, leader_epoch=1)
        admin.alter_consumer_group_offsets(group, {tp: beyond_the_end}).raise_errors()
    more = {"group.id": group, "startingOffsets": "committed", "failOnDataLoss": "latest"}
    with pytest.raises(KafkaError) as failed:
        StreamReader(options_of(topics, topic, **more)).initialOffset()
    assert failed.value.retriable, failed.value
