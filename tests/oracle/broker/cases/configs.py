"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, ListConfigResources. Resource types: 2 topic, 4 broker, 8 broker logger,
16 client metrics, 32 group."""

from __future__ import annotations

from typing import Any

from millstream.protocol.json_form import to_json
from tests.oracle.broker.runner import case
from tests.oracle.broker.session import Session, versions

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def describe(  # noqa: PLR0917  # read as a sentence: who, what, with what
    s: Session,
    version: int,
    note: str,
    kind: int,
    name: str,
    keys: list[str] | None = None,
    **options: Any,
) -> None:
    s.ask(
        "DescribeConfigs",
        version,
        note,
        resources=[{"resource_type": kind, "resource_name": name, "configuration_keys": keys}],
        **options,
    )


def alter(
    s: Session,
    version: int,
    note: str,
    kind: int,
    name: str,
    *changes: tuple[str, int, str | None],
    validate_only: bool = False,
) -> None:
    s.ask("IncrementalAlterConfigs", version, note, validate_only=validate_only, resources=[
        {"resource_type": kind, "resource_name": name, "configs": [
            {"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]}])  # fmt: skip


def replace(
    s: Session,
    version: int,
    note: str,
    kind: int,
    name: str,
    *values: tuple[str, str | None],
    validate_only: bool = False,
) -> None:
    s.ask("AlterConfigs", version, note, validate_only=validate_only, resources=[
        {"resource_type": kind, "resource_name": name, "configs": [{"name": key, "value": value} for key, value in values]}])  # fmt: skip


@case("DescribeConfigs")
def describe_topic_configs(s: Session) -> None:
    topic = s.topic(retention_ms="5000", cleanup_policy="compact,delete")
    for version in versions("DescribeConfigs"):
        describe(s, version, "all", TOPIC, topic.name)
        describe(
            s,
            version,
            "some",
            TOPIC,
            topic.name,
            ["retention.ms", "no.such.config", "segment.bytes"],
        )
        describe(s, version, "none", TOPIC, topic.name, [])
        describe(
            s,
            version,
            "with synonyms",
            TOPIC,
            topic.name,
            ["retention.ms", "segment.bytes", "min.insync.replicas"],
            include_synonyms=True,
        )
        describe(s, version, "unknown topic", TOPIC, s.name("no"))
        describe(s, version, "bad name", TOPIC, "a b")
        describe(s, version, "no name", TOPIC, "")
    describe(
        s,
        4,
        "all with synonyms and documentation",
        TOPIC,
        topic.name,
        include_synonyms=True,
        include_documentation=True,
    )


@case("DescribeConfigs")
def describe_other_resources(s: Session) -> None:
    for version in versions("DescribeConfigs"):
        describe(s, version, "unknown type", 77, "x")
        describe(s, version, "type 0", 0, "x")
        describe(s, version, "broker 9", BROKER, "9")
        describe(s, version, "broker x", BROKER, "x")
        describe(s, version, "broker defaults", BROKER, "")
        describe(
            s,
            version,
            "keys of the broker",
            BROKER,
            "1",
            ["log.retention.ms", "num.partitions", "node.id", "ssl.keystore.password", "no.such"],
            include_synonyms=True,
        )
        describe(s, version, "group", GROUP, "g")
        describe(s, version, "group without a name", GROUP, "")
        describe(s, version, "client metrics", METRICS, "m")
        describe(s, version, "loggers of broker 9", LOGGER, "9")
        s.ask("DescribeConfigs", version, "nothing", resources=[])


@case("DescribeConfigs")
def describe_broker_configs(s: Session) -> None:
    """Names, types and whether they may be changed of all; values of those that are the same everywhere."""
    answer = s.quietly(
        "DescribeConfigs",
        4,
        resources=[{"resource_type": BROKER, "resource_name": "1"}],
        include_documentation=False,
    )
    own = {
        "advertised.listeners",
        "listeners",
        "log.dirs",
        "log.dir",
        "controller.quorum.voters",
        "controller.quorum.bootstrap.servers",
    }
    for config in sorted(answer.results[0].configs, key=lambda c: c.name):
        value = "(its own)" if config.name in own else config.value
        shown = {
            "type": config.config_type,
            "readOnly": config.read_only,
            "sensitive": config.is_sensitive,
            "source": config.config_source,
            "value": value,
        }
        s.note("DescribeConfigs", 4, config.name, shown)


@case("IncrementalAlterConfigs", "DescribeConfigs")
def alter_topic_configs(s: Session) -> None:
    keys = ["retention.ms", "cleanup.policy", "max.message.bytes"]
    for version in versions("IncrementalAlterConfigs"):
        topic = s.topic(f"t{version}", max_message_bytes="5000")
        for note, *changes in (
            ("set", ("retention.ms", SET, "77")), ("append", ("cleanup.policy", APPEND, "compact")), ("append again", ("cleanup.policy", APPEND, "compact")),
            ("subtract", ("cleanup.policy", SUBTRACT, "delete")), ("subtract what is not there", ("cleanup.policy", SUBTRACT, "delete")),
            ("delete", ("retention.ms", DELETE, None)), ("delete what is not set", ("retention.ms", DELETE, None)), ("delete with a value", ("retention.ms", DELETE, "4")),
            ("append to a number", ("retention.ms", APPEND, "1")), ("unknown operation", ("retention.ms", 9, "1")), ("bad value", ("retention.ms", SET, "x")),
            ("null value", ("retention.ms", SET, None)), ("unknown key", ("no.such", SET, "1")), ("delete an unknown key", ("no.such", DELETE, None)),
            ("one key twice", ("retention.ms", SET, "1"), ("retention.ms", SET, "2")), ("several", ("retention.ms", SET, "9"), ("max.message.bytes", DELETE, None)),
            ("good and bad", ("retention.ms", SET, "10"), ("segment.bytes", SET, "1")), ("nothing",),
            ("segment.ms of 0", ("segment.ms", SET, "0")), ("append an empty value", ("cleanup.policy", APPEND, "")), ("no policy left", ("cleanup.policy", SUBTRACT, "compact")),
        ):  # fmt: skip
            alter(s, version, f"to check: {note}", TOPIC, topic.name, *changes, validate_only=True)
            alter(s, version, note, TOPIC, topic.name, *changes)
            s.settle()
            describe(s, 4, f"after: {note}", TOPIC, topic.name, keys)
        alter(s, version, "unknown topic", TOPIC, s.name("no"), ("retention.ms", SET, "1"))
        alter(s, version, "bad name", TOPIC, "a b", ("retention.ms", SET, "1"))
        alter(s, version, "no name", TOPIC, "", ("retention.ms", SET, "1"))
        alter(s, version, "unknown type", 77, "x", ("retention.ms", SET, "1"))
        twice = {"resource_type": TOPIC, "resource_name": topic.name, "configs": []}
        s.ask("IncrementalAlterConfigs", version, "a resource twice", resources=[twice, twice])
        s.ask("IncrementalAlterConfigs", version, "no resource", resources=[])


@case("IncrementalAlterConfigs", "DescribeConfigs")
def alter_broker_configs(s: Session) -> None:
    keys = ["log.cleaner.threads", "log.retention.ms", "message.max.bytes", "num.partitions"]
    for note, name, *changes in (
        ("set on the broker", "1", ("log.cleaner.threads", SET, "2")), ("set the default", "", ("log.cleaner.threads", SET, "3")),
        ("delete on the broker", "1", ("log.cleaner.threads", DELETE, None)), ("delete the default", "", ("log.cleaner.threads", DELETE, None)),
        ("a default of topics", "", ("log.retention.ms", SET, "123456")), ("its deletion", "", ("log.retention.ms", DELETE, None)),
        ("read only", "1", ("num.network.threads.x", SET, "2")), ("read only too", "1", ("node.id", SET, "7")), ("of no broker", "9", ("log.cleaner.threads", SET, "2")),
        ("broker x", "x", ("log.cleaner.threads", SET, "2")), ("bad value", "1", ("log.cleaner.threads", SET, "x")), ("per broker only", "", ("listeners", SET, "PLAINTEXT://:1")),
        ("threads too many", "1", ("num.io.threads", SET, "1000")), ("unknown key", "1", ("no.such.key", SET, "v")), ("its deletion then", "1", ("no.such.key", DELETE, None)),
        ("negative", "", ("message.max.bytes", SET, "-1")),
    ):  # fmt: skip
        alter(s, 1, f"to check: {note}", BROKER, name, *changes, validate_only=True)
        alter(s, 1, note, BROKER, name, *changes)
        s.settle()
        describe(s, 4, f"after: {note}", BROKER, "1", keys, include_synonyms=True)
        describe(s, 4, f"defaults after: {note}", BROKER, "", keys, include_synonyms=True)


@case("IncrementalAlterConfigs", "DescribeConfigs")
def alter_group_configs(s: Session) -> None:
    group = s.name()
    for note, *changes in (
        ("set", ("consumer.session.timeout.ms", SET, "50000")), ("too small", ("consumer.session.timeout.ms", SET, "1")), ("too large", ("consumer.session.timeout.ms", SET, "9999999")),
        ("text", ("consumer.heartbeat.interval.ms", SET, "x")), ("unknown", ("no.such", SET, "1")), ("share", ("share.auto.offset.reset", SET, "earliest")),
        ("share by duration", ("share.auto.offset.reset", SET, "by_duration:PT1H")), ("share badly", ("share.auto.offset.reset", SET, "middle")), ("isolation", ("share.isolation.level", SET, "read_committed")),
        ("streams", ("streams.num.standby.replicas", SET, "1")), ("streams too many", ("streams.num.standby.replicas", SET, "9")), ("deleted", ("consumer.session.timeout.ms", DELETE, None)),
    ):  # fmt: skip
        alter(s, 1, f"to check: {note}", GROUP, group, *changes, validate_only=True)
        alter(s, 1, note, GROUP, group, *changes)
        s.settle()
        describe(s, 4, f"after: {note}", GROUP, group, include_synonyms=True)
    alter(s, 1, "without a name", GROUP, "", ("consumer.session.timeout.ms", SET, "50000"))


def _list_own(s: Session, version: int, note: str) -> None:
    """Subscriptions of other cases are left out."""
    answer = s.quietly("ListConfigResources", version, resource_types=[METRICS])
    answer.config_resources = [r for r in answer.config_resources if r.resource_name == s.name()]
    s.note("ListConfigResources", version, note, to_json(answer, version))


@case("IncrementalAlterConfigs", "DescribeConfigs", "ListConfigResources")
def alter_client_metrics(s: Session) -> None:
    name = s.name()
    for note, *changes in (
        ("set", ("metrics", SET, "org.apache.kafka.producer."), ("interval.ms", SET, "1000"), ("match", SET, "client_id=.*")), ("interval too small", ("interval.ms", SET, "1")),
        ("bad match", ("match", SET, "client_id")), ("unknown match", ("match", SET, "colour=red")), ("unknown key", ("no.such", SET, "1")), ("deleted", ("interval.ms", DELETE, None)),
    ):  # fmt: skip
        alter(s, 1, note, METRICS, name, *changes)
        s.settle()
        describe(s, 4, f"after: {note}", METRICS, name)
    for version in versions("ListConfigResources"):
        _list_own(s, version, "client metrics")
    alter(
        s, 1, "all deleted", METRICS, name, *((key, DELETE, None) for key in ("metrics", "match"))
    )
    _list_own(s, 1, "none left")
    s.ask("ListConfigResources", 1, "brokers", resource_types=[BROKER])
    s.ask("ListConfigResources", 1, "loggers", resource_types=[LOGGER])
    s.ask("ListConfigResources", 1, "unknown type", resource_types=[99])
    alter(s, 1, "without a name", METRICS, "", ("interval.ms", SET, "1000"))


@case("AlterConfigs", "DescribeConfigs")
def replace_topic_configs(s: Session) -> None:
    keys = ["retention.ms", "cleanup.policy", "max.message.bytes"]
    for version in versions("AlterConfigs"):
        topic = s.topic(f"t{version}", max_message_bytes="5000")
        for note, *values in (
            ("one", ("retention.ms", "77")), ("another", ("cleanup.policy", "compact")), ("bad value", ("retention.ms", "x")), ("null value", ("retention.ms", None)),
            ("unknown key", ("no.such", "1")), ("twice", ("retention.ms", "1"), ("retention.ms", "2")), ("nothing",),
        ):  # fmt: skip
            replace(s, version, f"to check: {note}", TOPIC, topic.name, *values, validate_only=True)
            replace(s, version, note, TOPIC, topic.name, *values)
            s.settle()
            describe(s, 4, f"after: {note}", TOPIC, topic.name, keys)
        replace(s, version, "unknown topic", TOPIC, s.name("no"), ("retention.ms", "1"))
        replace(s, version, "unknown type", 77, "x", ("retention.ms", "1"))
        replace(s, version, "group", GROUP, s.name("g"), ("consumer.session.timeout.ms", "50000"))
