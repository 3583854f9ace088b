from __future__ import annotations

import logging
import types
import typing
from dataclasses import fields

import pytest

from millstream.broker.config.broker_config import (
    BrokerConfig,
    broker_config,
    parse_override,
    with_client_port,
)
from millstream.broker.config.listeners import Listener
from millstream.broker.config.standing_alone import SETTINGS_ALONE, settings_of_few
from millstream.broker.config.table import BROKER_CONFIGS
from millstream.errors import ConfigError
from millstream.properties_text import parse_properties
from millstream.protocol.enums import ConfigType

KAFKA_SERVER_PROPERTIES = """
# as shipped with Kafka 4.3 for a combined node
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=2
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def test_every_field_is_a_key_of_the_table_with_its_type() -> None:
    derived = {
        "http_listener",
        "data_directories",
        "metadata_is_apart",
        "listeners",
        "protection",
        "controller_listeners",
        "advertised",
        "settings",
        "values",
    }
    hints = typing.get_type_hints(BrokerConfig)
    python_types = {
        ConfigType.BOOLEAN: bool, ConfigType.STRING: str, ConfigType.INT: int, ConfigType.SHORT: int, ConfigType.LONG: int,
        ConfigType.LIST: tuple[str, ...], ConfigType.PASSWORD: str,
    }  # fmt: skip
    for field in fields(BrokerConfig):
        if field.name in derived:
            continue
        key = BROKER_CONFIGS[field.name.replace("_", ".")]
        expected: object = python_types[key.type]
        if key.default_value is None:
            expected = expected | types.NoneType  # type: ignore[operator]
        assert hints[field.name] == expected, field.name


def test_defaults_of_the_table_can_be_parsed_back() -> None:
    for key in BROKER_CONFIGS.values():
        assert key.parse(key.default_text) == key.default_value, key.name


def test_every_key_is_explained() -> None:
    assert [key.name for key in BROKER_CONFIGS.values() if len(key.meaning) < 20] == []


def test_a_node_without_settings_listens_on_this_machine_only() -> None:
    config = broker_config({})
    assert config.listeners == (Listener("PLAINTEXT", "127.0.0.1", 9092),)
    assert (config.node_id, config.num_partitions, config.data_directories) == (
        1,
        1,
        ("./millstream-data",),
    )
    assert config.millstream_flush_on_ack == "auto"


def test_kafkas_own_server_properties_is_read_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        config = broker_config(parse_properties(KAFKA_SERVER_PROPERTIES))
    assert config.listeners == (Listener("PLAINTEXT", "", 9092),)
    assert config.controller_listeners == (Listener("CONTROLLER", "", 9093),)
    assert config.advertised == (
        Listener("PLAINTEXT", "localhost", 9092),
        Listener("CONTROLLER", "localhost", 9093),
    )
    assert config.data_directories == ("/tmp/kraft-combined-logs",)
    assert [record.message.split(":")[0] for record in caplog.records] == [
        "settings without effect in this version",
    ]
    for name in ("num.io.threads", "num.network.threads"):
        assert name in caplog.records[0].message


def test_an_unknown_key_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"did you mean num\.partitions"):
        broker_config({"num.partition": "3"})


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        (
            "security.inter.broker.protocol",
            "SASL_SSL",
            "brokers speak to each other at SASL_SSL, which listeners does not have",
        ),
        (
            "listener.name.plaintext.ssl.client.auth",
            "required",
            "listener PLAINTEXT has no TLS; give it SSL or SASL_SSL",
        ),
        ("listener.name.internal.sasl.enabled.mechanisms", "PLAIN", "has no such listener"),
        (
            "listener.name.plaintext.sasl.enabled.mechanisms",
            "PLAIN",
            "nobody logs in at listener PLAINTEXT",
        ),
    ],
)
def test_a_protection_that_is_not_given_is_refused_and_not_ignored(
    key: str, value: str, sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        broker_config({key: value})


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"listeners": "SSL://:9092", "inter.broker.listener.name": "SSL"},
            "listener SSL has TLS and no key: give ssl.keystore.location",
        ),
        ({"listeners": "CONTROLLER://:9093"}, "at least one must serve clients"),
        ({"listeners": "localhost:9092"}, "write NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://:99999"}, "port 99999 is out of range"),
        ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, "a name of its own"),
        ({"listeners": "INSIDE://:9092"}, "names no protocol for listener INSIDE"),
        ({"listeners": "PLAINTEXT://a:9092,CONTROLLER://b:9092"}, "a port of its own"),
        ({"inter.broker.listener.name": "INSIDE"}, "INSIDE, which listeners does not have"),
        (
            {
                "listeners": "INSIDE://:9092",
                "listener.security.protocol.map": "INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
            },
            "brokers speak to each other at PLAINTEXT, .* such as INSIDE",
        ),
        (
            {
                "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
                "inter.broker.listener.name": "CONTROLLER",
            },
            "CONTROLLER, which listeners does not have for clients; name one of PLAINTEXT",
        ),
        (
            {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
            "an address that clients can connect to",
        ),
        ({"advertised.listeners": "INSIDE://a:9092"}, "INSIDE, which listeners does not have"),
        ({"node.id": "2", "broker.id": "3"}, "the same thing"),
        ({"log.retention.hours": "0"}, "unlimited"),
        ({"log.cleaner.threads": "200"}, "1 MiB for each thread"),
        ({"queued.max.request.bytes": "1000"}, "one request could not be read"),
        (
            {"group.consumer.min.session.timeout.ms": "50000"},
            "must not be more than group.consumer.session",
        ),
        (
            {"group.streams.num.standby.replicas": "3"},
            "must not be more than group.streams.max.standby",
        ),
        ({"process.roles": "broker"}, "a broker must know its controllers"),
        (
            {"process.roles": "broker", "controller.quorum.voters": "1@h:9093", "node.id": "1"},
            "names node 1, whose process.roles is broker",
        ),
        (
            {
                "process.roles": "broker",
                "controller.quorum.bootstrap.servers": "h:9093",
                "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            },
            "listeners has CONTROLLER, and process.roles=broker is no controller",
        ),
        ({"process.roles": "controller"}, "a controller needs one of controller.listener.names"),
        (
            {
                "process.roles": "controller",
                "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
            },
            "listeners has PLAINTEXT, and process.roles=controller serves no clients",
        ),
        (
            {
                "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
            },
            "names no protocol for listener CONTROLLER",
        ),
        (
            {
                "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL",
            },
            "listener CONTROLLER has TLS and no key",
        ),
        ({"controller.quorum.voters": "2@a:1", "node.id": "1"}, "names 2@a:1, and this is node 1"),
        (
            {"controller.quorum.voters": "2@a:1,3@b:1", "node.id": "1"},
            "names 2@a:1, 3@b:1, and this is node 1",
        ),
        ({"millstream.flush.on.ack": "sometimes"}, "auto, always, never"),
        ({"num.partitions": "0"}, "at least 1"),
        ({"log.retention.ms": "-7"}, "at least -1"),
    ],
)
def test_what_cannot_be_served_is_refused_with_a_sentence(
    settings: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        broker_config(settings)


def test_a_default_that_no_topic_could_have_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match=r"min\.compaction\.lag\.ms \(20\) must not be more"):
        broker_config(
            {
                "log.cleaner.min.compaction.lag.ms": "20",
                "log.cleaner.max.compaction.lag.ms": "10",
            }
        )


def test_the_old_name_of_the_node_id_is_understood() -> None:
    assert broker_config({"broker.id": "7"}).node_id == 7
    assert broker_config({"broker.id": "7", "node.id": "7"}).node_id == 7


def test_what_was_set_is_remembered_as_text() -> None:
    assert broker_config({"num.partitions": "03"}).settings["num.partitions"] == "03"


IDENTITY = {
    "node.id": "1",
    "broker.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, IDENTITY),
        ({"node.id": "7"}, {**IDENTITY, "node.id": "7", "broker.id": "7"}),
        ({"broker.id": "7"}, {**IDENTITY, "node.id": "7", "broker.id": "7"}),
        ({"broker.id": "-1"}, {**IDENTITY, "broker.id": "-1"}),
        (
            {"process.roles": "controller,broker"},
            {**IDENTITY, "process.roles": "controller,broker"},
        ),
    ],
)
def test_what_no_node_of_kafka_starts_without_counts_as_given(
    given: dict[str, str], expected: dict[str, str]
) -> None:
    assert broker_config(given).settings == {**SETTINGS_ALONE, **expected}


def test_a_node_that_stands_alone_keeps_one_replica_of_what_coordinators_write() -> None:
    config = broker_config({})
    assert (config.offsets_topic_replication_factor, config.transaction_state_log_min_isr) == (1, 1)
    assert config.share_coordinator_state_topic_replication_factor == 1
    told = broker_config({"offsets.topic.replication.factor": "3"})
    assert told.offsets_topic_replication_factor == 3


@pytest.mark.parametrize(
    "quorum",
    [
        {"controller.quorum.voters": "1@127.0.0.1:9093"},
        {"controller.quorum.bootstrap.servers": "127.0.0.1:9093"},
    ],
)
def test_a_node_of_a_quorum_keeps_three_as_in_kafka(quorum: dict[str, str]) -> None:
    config = broker_config(
        {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093", **quorum}
    )
    assert config.offsets_topic_replication_factor == 3
    assert config.transaction_state_log_replication_factor == 3
    assert config.transaction_state_log_min_isr == 2
    assert config.share_coordinator_state_topic_replication_factor == 3
    assert config.share_coordinator_state_topic_min_isr == 2


@pytest.mark.parametrize(
    ("brokers", "factor", "min_isr"), [(1, 1, 1), (2, 2, 1), (3, 3, 2), (5, 3, 2)]
)
def test_a_cluster_on_one_machine_has_as_many_replicas_as_it_can(
    brokers: int, factor: int, min_isr: int
) -> None:
    config = broker_config(
        {
            "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
            "controller.quorum.bootstrap.servers": "127.0.0.1:9093",
            **settings_of_few(brokers),
        }
    )
    assert config.offsets_topic_replication_factor == factor
    assert config.share_coordinator_state_topic_replication_factor == factor
    assert config.transaction_state_log_min_isr == min_isr


def test_overrides_are_key_equals_value() -> None:
    assert parse_override("listeners=A://h:1?x=y") == ("listeners", "A://h:1?x=y")
    with pytest.raises(ConfigError, match="write key=value"):
        parse_override("num.partitions")


def test_a_port_replaces_that_of_the_client_listener_and_of_what_is_advertised_for_it() -> None:
    assert with_client_port({}, 0) == {"listeners": "PLAINTEXT://127.0.0.1:0"}
    settings = parse_properties(KAFKA_SERVER_PROPERTIES)
    changed = with_client_port(settings, 19092)
    assert changed["listeners"] == "PLAINTEXT://:19092,CONTROLLER://:9093"
    assert (
        changed["advertised.listeners"] == "PLAINTEXT://localhost:19092,CONTROLLER://localhost:9093"
    )


def test_the_metadata_log_lives_in_the_first_of_several_directories_unless_told_otherwise() -> None:
    config = broker_config({"log.dirs": "/a,/b"})
    assert (config.data_directories, config.metadata_is_apart) == (("/a", "/b"), False)
    config = broker_config({"log.dirs": "/a,/b", "metadata.log.dir": "/b"})
    assert (config.data_directories, config.metadata_is_apart) == (("/b", "/a"), False)
    config = broker_config({"log.dirs": "/a,/b", "metadata.log.dir": "/m"})
    assert (config.data_directories, config.metadata_is_apart) == (("/m", "/a", "/b"), True)


def test_whoever_does_not_log_in_should_be_a_super_user_or_have_rules(
    caplog: pytest.LogCaptureFixture,
) -> None:
    name = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    broker_config({"authorizer.class.name": name, "super.users": "User:admin;User:ANONYMOUS"})
    assert caplog.text == ""
    config = broker_config({"authorizer.class.name": name, "super.users": "User:admin"})
    assert config.authorizer_class_name == name
    assert "User:ANONYMOUS, which is not among super.users" in caplog.text


def test_super_users_are_principals_with_a_type() -> None:
    with pytest.raises(ConfigError, match=r"super\.users.*written as `Type:name`.*not `admin`"):
        broker_config({"super.users": "User:ANONYMOUS;admin"})


def test_an_authorizer_of_ones_own_cannot_be_loaded() -> None:
    with pytest.raises(ConfigError, match=r"authorizer\.class\.name"):
        broker_config({"authorizer.class.name": "com.example.Mine"})


def test_a_flush_interval_that_nobody_looks_at_is_said(caplog: pytest.LogCaptureFixture) -> None:
    broker_config({"log.flush.interval.ms": "1000", "log.flush.scheduler.interval.ms": "500"})
    assert caplog.text == ""
    broker_config({"log.flush.interval.ms": "1000"})
    assert "until log.flush.scheduler.interval.ms says how often" in caplog.text


@pytest.mark.parametrize("key", ["max.connections", "max.connection.creation.rate"])
def test_a_limit_that_lets_nobody_in_is_refused(key: str) -> None:
    """Kafka takes it in its file and serves nobody, and refuses it while it runs."""
    with pytest.raises(ConfigError, match="must be at least 1"):
        BROKER_CONFIGS[key].parse("0")


def test_a_replica_selector_of_ones_own_cannot_be_loaded() -> None:
    with pytest.raises(ConfigError, match=r"write one of .*RackAwareReplicaSelector"):
        broker_config({"replica.selector.class": "org.example.Selector"})
    assert broker_config({}).replica_selector_class is None
