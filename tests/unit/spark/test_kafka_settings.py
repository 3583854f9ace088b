"""Settings of the Kafka clients on Spark: which are taken, which are refused and why, and that no secret is shown."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from pyspark.sql.types import BinaryType, StructType

from millstream.errors import ConfigError
from millstream.spark import RunnerOptions, kafka_options
from millstream.spark.kafka_settings import KafkaSettings, for_both, for_reading, for_writing
from millstream.spark.sink.options import parse_sink_options
from millstream.spark.source.options import parse_source_options
from millstream.streams.client_roles import ClientRole

PATIENT = {"bootstrap_wait_ms": str(2**31 - 1)}
BROKER = {"bootstrap.servers": "b:1"}
SECURE = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "alice",
    "sasl.password": "hunter1",
    "sasl.jaas.config": "hunter2",
    "ssl.keystore.key": "hunter3",
    "ssl.key.password": "hunter4",
    "sasl.oauthbearer.client.credentials.client.secret": "hunter5",
}


def test_a_topology_has_transactions_with_a_time_out_of_their_own() -> None:
    with pytest.raises(ConfigError, match="only a sink with deliveryGuarantee=exactly-once"):
        for_both(BROKER | {"transaction.timeout.ms": "1000"})


def test_each_client_is_given_what_it_has() -> None:
    settings = for_both(
        BROKER | {"client.id": "c", "isolation.level": "read_uncommitted", "linger.ms": 7}
    )
    common = {"bootstrap_servers": "b:1", "client_id": "c", **PATIENT}
    assert settings.of_client() == common
    assert settings.of_reader() == common | {"isolation_level": "read_uncommitted"}
    assert settings.of_producer() == common | {"linger_ms": "7"}
    assert settings.source_options() == {
        "kafka.bootstrap.servers": "b:1",
        "kafka.client.id": "c",
        "kafka.isolation.level": "read_uncommitted",
    }


def test_each_kind_of_client_of_a_topology_may_have_settings_of_its_own() -> None:
    """As in Kafka Streams `main.consumer.` counts before `consumer.`, and that before no prefix."""
    settings = for_both(
        BROKER
        | {
            "main.consumer.fetch.max.bytes": 300,
            "consumer.fetch.max.bytes": 200,
            "fetch.max.bytes": 100,
            "consumer.isolation.level": "read_uncommitted",
            "restore.consumer.client.rack": "a",
            "global_consumer_fetch_min_bytes": 5,
            "producer.linger.ms": 9,
            "admin.request.timeout.ms": 4_000,
        }
    )
    common = {"bootstrap_servers": "b:1", **PATIENT}
    reading = common | {"isolation_level": "read_uncommitted", "fetch_max_bytes": "200"}
    assert settings.of_reader() == reading | {"fetch_max_bytes": "300"}
    assert settings.of_reader(ClientRole.RESTORE_CONSUMER) == reading | {"client_rack": "a"}
    assert settings.of_reader(ClientRole.GLOBAL_CONSUMER) == reading | {"fetch_min_bytes": "5"}
    assert settings.of_producer() == common | {"linger_ms": "9"}
    assert settings.of_client() == common | {"request_timeout_ms": "4000"}
    assert settings.source_options()["kafka.fetch.max.bytes"] == "300"
    assert settings.sink_options()["kafka.linger.ms"] == "9"
    assert not settings.is_read_committed
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_a_secret_of_one_kind_of_client_is_not_shown() -> None:
    settings = for_both(BROKER | {"admin.sasl.password": "hunter6", "admin.sasl.username": "root"})
    assert "hunter" not in repr(settings)
    assert "admin.sasl_username='root'" in repr(settings)


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("main.consumer.group.id", "g", "main.consumer.group.id is decided by the application: leave it out; it is StreamsConfig"),
        ("restore.consumer.isolation.level", "read_uncommitted", "restore.consumer.isolation.level is one for all consumers: write consumer.isolation.level"),
        ("producer.transactional.id", "t", "is decided by the application"),
        ("main.consumer.session.timeout.ms", 1, "a topology on Spark runs with no setting main.consumer.session.timeout.ms: no client that is used has it"),
        ("producer.transaction.timeout.ms", 1, "only a sink with deliveryGuarantee=exactly-once"),
        ("consumer.fetch.min.byte", 1, "did you mean fetch_min_bytes"),
        ("admin.request.timeout.ms", "soon", "admin.request.timeout.ms"),
        ("main.consumer.metadata.max.age.ms", 1, "discoveryIntervalMs"),
    ],
)  # fmt: skip
def test_what_one_kind_of_client_cannot_use_is_refused_with_a_reason(
    setting: str, value: object, sentence: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        for_both(BROKER | {setting: value})
    assert sentence in str(refused.value)


def test_a_runner_reads_no_aborted_records_and_a_source_does_as_a_consumer() -> None:
    assert for_both(BROKER).of_reader()["isolation_level"] == "read_committed"
    assert for_both(BROKER | {"isolation_level": "read_uncommitted"}).of_reader() == {
        "bootstrap_servers": "b:1",
        "isolation_level": "read_uncommitted",
        **PATIENT,
    }
    assert for_reading(BROKER).of_reader() == {"bootstrap_servers": "b:1", **PATIENT}


def test_only_what_begins_gives_up_where_nothing_listens() -> None:
    """Clients of tasks are made later: to them a cluster that refuses is one that restarts. A query in a pipeline begins as well."""
    settings = for_both(BROKER | {"bootstrap.wait.ms": 30_000})
    assert settings.of_start().bootstrap_wait_ms == 30_000
    assert for_both(BROKER).of_start().bootstrap_wait_ms == 1_000
    for of_task in (settings.of_client(), settings.of_reader(), settings.of_producer()):
        assert of_task["bootstrap_wait_ms"] == PATIENT["bootstrap_wait_ms"]
    assert settings.source_options()["kafka.bootstrap.wait.ms"] == "30000"
    assert settings.sink_options()["kafka.bootstrap.wait.ms"] == "30000"


def test_options_with_the_prefix_are_settings() -> None:
    options = {f"kafka.{name}": value for name, value in (BROKER | SECURE).items()}
    source = parse_source_options(options | {"subscribe": "t"})
    sink = parse_sink_options(options | {"topic": "t"}, StructType().add("value", BinaryType()))
    assert source.kafka == sink.kafka == for_reading(BROKER | SECURE)
    assert source.kafka.of_reader()["sasl_password"] == "hunter1"


def test_no_repr_shows_a_secret() -> None:
    options = {f"kafka.{name}": value for name, value in (BROKER | SECURE).items()}
    source = parse_source_options(options | {"subscribe": "t"})
    runner = RunnerOptions(bootstrap_servers="b:1", directory="d", client_settings=SECURE)
    for each in (source, source.kafka, runner, for_both(BROKER | SECURE)):
        assert "hunter" not in repr(each)
    assert "sasl_username='alice'" in repr(source.kafka)
    assert "sasl_password=***" in repr(source.kafka)


def test_settings_travel_to_the_workers() -> None:
    settings = for_both(BROKER | SECURE)
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert hash(settings) == hash(for_both(BROKER | SECURE))


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("group.id", "g", "reads with no setting group.id: Spark's checkpoint keeps the offsets"),
        ("auto.offset.reset", "latest", "startingOffsets says where a query begins"),
        ("linger.ms", "5", "it is a setting of the sink"),
        ("metadata.max.age.ms", "5", "discoveryIntervalMs"),
        ("session.timeout.ms", "5", "no client that is used has it"),
        ("ssl.context", "x", "only text travels"),
        ("isolation.level", "dirty", "isolation.?level must be one of"),
        ("security.protocol", "TLS", "security.?protocol must be one of PLAINTEXT, SSL"),
        ("securty.protocol", "SSL", "did you mean security_protocol"),
        ("ssl.truststore.type", "JKS", "must be one of PEM"),
        ("ssl.keystore.password", "x", "PEM stores have no password"),
        ("client.rack", 1.5, "must be text, a number or a bool, not a float"),
    ],
)
def test_what_a_source_cannot_use_is_refused_with_a_reason(
    setting: str, value: object, sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        for_reading(BROKER | {setting: value})


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("acks", "writes with no setting acks: every write is idempotent"),
        ("transactional.id", "transactionalIdPrefix of the sink says"),
        ("isolation.level", "it is a setting of the source"),
    ],
)
def test_what_a_sink_cannot_use_is_refused_with_a_reason(setting: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        for_writing(BROKER | {setting: "1"})


def test_one_setting_by_two_names_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"sasl\.password and sasl_plain_password are the same"):
        for_reading(BROKER | {"sasl.password": "x", "sasl_plain_password": "y"})


def test_a_setting_without_its_prefix_is_told_of_it() -> None:
    given = {"bootstrap.servers": "b:1", "subscribe": "t", "security.protocol": "SSL"}
    with pytest.raises(ConfigError, match=r"with a prefix, kafka\.security\.protocol"):
        parse_source_options(given)


def test_settings_are_equal_whatever_their_order() -> None:
    assert for_reading({"client.id": "c", **BROKER}) == KafkaSettings(
        (("bootstrap_servers", "b:1"), ("client_id", "c"))
    )


def test_a_file_of_a_client_is_options_of_source_and_sink_and_a_runner(tmp_path: Path) -> None:
    """What source, sink or runner decide themselves is left out: the file serves other clients, too."""
    file = tmp_path / "client.properties"
    file.write_text(
        "bootstrap.servers=b:1\nsecurity.protocol=SSL\nmetadata.max.age.ms=5\nlinger.ms=4\n"
    )
    options = kafka_options(file)
    assert options == {"kafka.bootstrap.servers": "b:1", "kafka.security.protocol": "SSL"}
    parse_source_options(options | {"subscribe": "t"})
    parse_sink_options(options | {"topic": "t"}, StructType().add("value", BinaryType()))
    runner = RunnerOptions.from_properties(file, directory="/x", client_settings={"linger_ms": 9})
    assert (runner.bootstrap_servers, runner.directory) == ("b:1", "/x")
    assert runner.client_settings == {"security_protocol": "SSL", "linger_ms": 9}
    with_roles = "restore.consumer.fetch.max.bytes=7\nmain.consumer.session.timeout.ms=9\nconsumer.group.id=g\n"
    file.write_text("bootstrap.servers=b:1\n" + with_roles)
    runner = RunnerOptions.from_properties(
        file, client_settings={"restore.consumer.fetch.max.bytes": 8, "admin.retry.backoff.ms": 9}
    )
    assert runner.client_settings == {
        "restore.consumer.fetch_max_bytes": 8,
        "admin.retry_backoff_ms": 9,
    }
    file.write_text("security.protocol=SSL\n")
    with pytest.raises(ConfigError, match=r"has no bootstrap\.servers"):
        RunnerOptions.from_properties(file)


def test_a_file_is_judged_as_what_is_given_in_code(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "bootstrap.servers=b:1\nconsumer.isolation.level=read_uncommitted\n"
        "producer.transaction.timeout.ms=5\nmain.consumer.session.timeout.ms=9\n"
    )
    runner = RunnerOptions.from_properties(file)
    assert runner.client_settings == {"consumer.isolation_level": "read_uncommitted"}
    (said,) = [each for each in caplog.messages if "a topology on Spark takes no" in each]
    assert "producer.transaction_timeout_ms" in said
    assert "main.consumer.session_timeout_ms" in said


def test_a_source_that_writes_dead_letters_may_say_how_large_they_are() -> None:
    large = {"bootstrap.servers": "b:1", "max.request.size": "5000000"}
    assert for_reading(large, writes_letters=True).of_producer()["max_request_size"] == "5000000"
    with pytest.raises(ConfigError, match="of the sink, and of a source with a deadLetterTopic"):
        for_reading(large)
