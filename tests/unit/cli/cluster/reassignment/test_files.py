"""JSON of kafka-reassign-partitions: what is read, what is refused with which sentence, what is printed."""

from __future__ import annotations

import json

import pytest

from millstream.cli.cluster.reassignment.files import (
    read_partitions,
    read_target,
    read_topics,
    target_text,
)
from millstream.cli.cluster.reassignment.throttles import broker_throttles, topic_throttles
from millstream.errors import ConfigError
from millstream.model import TopicPartition

FROM_KAFKA = (
    '{"version":1,"partitions":[{"topic":"foo","partition":0,"replicas":[1,2,3],"log_dirs":["any","any","/b"]},'
    '{"topic":"bar","partition":1,"replicas":[2]}]}'
)
FOO, BAR = TopicPartition("foo", 0), TopicPartition("bar", 1)


def test_a_file_of_kafkas_tool_is_read() -> None:
    target = read_target(FROM_KAFKA, "f.json")
    assert target.replicas == {FOO: (1, 2, 3), BAR: (2,)}
    assert target.directories == {(FOO, 3): "/b"}
    assert target.topics == ["foo", "bar"]


def test_what_is_printed_is_read_again_and_is_as_kafkas_tool_prints_it() -> None:
    text = target_text({FOO: (1, 2), BAR: (2,)})
    assert json.loads(text) == {
        "version": 1,
        "partitions": [
            {"topic": "bar", "partition": 1, "replicas": [2], "log_dirs": ["any"]},
            {"topic": "foo", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]},
        ],
    }
    assert read_target(text, "f").replicas == {FOO: (1, 2), BAR: (2,)}
    assert "\n" not in text


def of(**entry: object) -> str:
    return json.dumps({"partitions": [{"topic": "t", "partition": 0, "replicas": [1], **entry}]})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "f.json is no JSON"),
        ("[" * 100_000, "f.json is no JSON"),
        ("[]", 'f.json has to be like {"version":1,"partitions":[...]}'),
        ('{"partitions":{}}', "f.json has to be like"),
        ('{"partitions":[],"version":2}', "f.json is of version 2, and only 1 is known"),
        ('{"partitions":[]}', "f.json names no partitions"),
        ('{"partitions":[7]}', "f.json: 7 in partitions is no object"),
        (of(topic=None), "names no topic"),
        (of(topic=""), "names no topic"),
        (of(partition="0"), "has no number of a partition"),
        (of(partition=-1), "has no number of a partition"),
        (of(partition=True), "has no number of a partition"),
        (of(replicas=[]), "the replicas of t-0 have to be a list of broker ids"),
        (of(replicas=["1"]), "the replicas of t-0 have to be a list of broker ids"),
        (of(replicas=[1, 1]), "f.json names a broker more than once among the replicas of t-0"),
        (of(log_dirs=[]), "t-0 has 1 replicas and 0 log_dirs"),
        (of(log_dirs=[1]), "log_dirs of t-0 have to be a list of paths"),
        (
            '{"partitions":[{"topic":"t","partition":0,"replicas":[1]},{"topic":"t","partition":0,"replicas":[2]}]}',
            "f.json names t-0 more than once",
        ),
    ],
)
def test_what_is_no_such_file_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_target(text, "f.json")
    assert sentence in str(refused.value)


def test_topics_and_partitions_of_kafkas_other_files() -> None:
    assert read_topics('{"topics":[{"topic":"a"},{"topic":"b"}],"version":1}', "f") == ["a", "b"]
    with pytest.raises(ConfigError, match="names a topic more than once"):
        read_topics('{"topics":[{"topic":"a"},{"topic":"a"}]}', "f")
    assert read_partitions('{"partitions":[{"topic":"foo","partition":0}]}', "f") == [FOO]
    with pytest.raises(ConfigError, match="names no partitions"):
        read_partitions('{"partitions":[]}', "f")


def test_replicas_that_are_there_send_and_new_ones_receive() -> None:
    """As Kafka's tool has it: a topic where nothing is added has no throttle."""
    before = {FOO: (1, 2), TopicPartition("foo", 1): (2, 3), BAR: (1,)}
    wanted = {FOO: (2, 4), TopicPartition("foo", 1): (3, 2), BAR: (1,)}
    assert topic_throttles(before, wanted) == {
        "foo": {
            "leader.replication.throttled.replicas": "0:1,0:2",
            "follower.replication.throttled.replicas": "0:4",
        }
    }
    assert broker_throttles([2, 1], 500, None) == {
        1: {
            "leader.replication.throttled.rate": "500",
            "follower.replication.throttled.rate": "500",
        },
        2: {
            "leader.replication.throttled.rate": "500",
            "follower.replication.throttled.rate": "500",
        },
    }
    assert broker_throttles([1], None, 7) == {
        1: {"replica.alter.log.dirs.io.max.bytes.per.second": "7"}
    }
    assert broker_throttles([1], None, None) == {}
