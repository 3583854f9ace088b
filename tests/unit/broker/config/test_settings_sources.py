"""Settings from a file, the environment and the command line."""

from __future__ import annotations

import pytest

from millstream.broker.config.broker_config import broker_config
from millstream.broker.config.sources import Setting, gathered_settings, setting_of_variable
from millstream.errors import ConfigError


@pytest.mark.parametrize(
    ("variable", "key"),
    [
        ("KAFKA_LOG_RETENTION_MS", "log.retention.ms"),
        ("KAFKA_NODE_ID", "node.id"),
        ("KAFKA_MY__OWN_KEY", "my_own.key"),
        ("KAFKA_WITH___DASH", "with-dash"),
    ],
)
def test_variables_are_spelled_as_in_kafkas_image(variable: str, key: str) -> None:
    assert setting_of_variable(variable) == key


def test_the_environment_beats_the_file_and_overrides_beat_both() -> None:
    gathered = gathered_settings(
        {"num.partitions": "1", "node.id": "1", "log.dirs": "/a"},
        "server.properties",
        {"KAFKA_NUM_PARTITIONS": "2", "KAFKA_NODE_ID": "2", "PATH": "/bin"},
        ["node.id=3"],
    )
    assert dict(gathered.given) == {
        "num.partitions": Setting("2", "in the environment as KAFKA_NUM_PARTITIONS"),
        "node.id": Setting("3", "by --override"),
        "log.dirs": Setting("/a", "in server.properties"),
    }
    assert gathered.values == {"num.partitions": "2", "node.id": "3", "log.dirs": "/a"}


def test_variables_of_kafkas_scripts_are_no_settings() -> None:
    gathered = gathered_settings(
        {}, "", {"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_LOG4J_ROOT_LOGLEVEL": "DEBUG"}, []
    )
    assert gathered.values == {}
    assert gathered.not_understood == ()


def test_variables_that_name_no_key_are_told_and_not_refused() -> None:
    """They may belong to another program: KAFKA_HOME, KAFKA_URI."""
    gathered = gathered_settings({}, "", {"KAFKA_URI": "x", "KAFKA_NUM_IO_THREADS": "8"}, [])
    assert gathered.not_understood == ("KAFKA_URI",)
    assert gathered.values == {"num.io.threads": "8"}


def test_the_environment_of_a_compose_file_for_kafka_starts_a_node() -> None:
    environment = {
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_LISTENERS": "PLAINTEXT_HOST://0.0.0.0:9092,CONTROLLER://0.0.0.0:29093,PLAINTEXT://:19092",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT_HOST://localhost:9092,PLAINTEXT://broker:19092",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@broker:29093",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "KAFKA_JMX_PORT": "9101",
        "KAFKA_HEAP_OPTS": "-Xmx1G",
    }
    gathered = gathered_settings({}, "", environment, [])
    assert gathered.not_understood == ()
    config = broker_config(gathered.values)
    assert [str(each) for each in config.listeners] == [
        "PLAINTEXT_HOST://0.0.0.0:9092",
        "PLAINTEXT://:19092",
    ]
    assert [str(each) for each in config.advertised or ()] == [
        "PLAINTEXT_HOST://localhost:9092",
        "PLAINTEXT://broker:19092",
    ]


def test_an_override_without_equals_is_refused() -> None:
    with pytest.raises(ConfigError, match="write key=value"):
        gathered_settings({}, "", {}, ["node.id"])
