"""Settings of one kind of client of an application: Kafka Streams' prefixes, and which of several counts."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from millstream.errors import ConfigError
from millstream.foreign_names.streams_settings import PREFIXES_OF_CLIENTS
from millstream.streams import StreamsConfig, read_streams_properties
from millstream.streams.application.clients import DefaultClientSupplier
from millstream.streams.client_roles import DECIDED, ClientRole, SettingsByRole

SERVERS = {"bootstrap.servers": "b:1"}
CONSUMERS = (ClientRole.MAIN_CONSUMER, ClientRole.RESTORE_CONSUMER, ClientRole.GLOBAL_CONSUMER)


def test_a_setting_without_a_prefix_is_of_every_client_that_has_it() -> None:
    settings = SettingsByRole(
        SERVERS | {"fetch.min.bytes": 2, "linger.ms": 3, "default_api_timeout_ms": 4}
    )
    plain = {"bootstrap_servers": "b:1"}
    for role in CONSUMERS:
        assert settings.of(role) == plain | {"fetch_min_bytes": 2, "default_api_timeout_ms": 4}
    assert settings.of(ClientRole.PRODUCER) == plain | {"linger_ms": 3}
    assert settings.of(ClientRole.ADMIN) == plain | {"default_api_timeout_ms": 4}


def test_main_consumer_counts_before_consumer_and_that_before_no_prefix() -> None:
    """StreamsConfig.getMainConsumerConfigs: the order in the file does not matter."""
    settings = SettingsByRole(
        {
            "main.consumer.fetch.max.bytes": 300,
            "consumer.fetch.max.bytes": 200,
            "fetch.max.bytes": 100,
            "consumer.max.partition.fetch.bytes": 20,
            "restore_consumer_fetch_min_bytes": 7,
            "max.partition.fetch.bytes": 10,
        }
    )
    main, restore, global_ = (settings.of(role) for role in CONSUMERS)
    assert main == {"fetch_max_bytes": 300, "max_partition_fetch_bytes": 20}
    assert restore == {
        "fetch_max_bytes": 200,
        "max_partition_fetch_bytes": 20,
        "fetch_min_bytes": 7,
    }
    assert global_ == {"fetch_max_bytes": 200, "max_partition_fetch_bytes": 20}
    assert settings.of(ClientRole.PRODUCER) == settings.of(ClientRole.ADMIN) == {}


@pytest.mark.parametrize("prefix", ["producer.", "admin.", "restore.consumer.", "global.consumer."])
def test_only_the_start_waits_for_a_cluster(prefix: str) -> None:
    with pytest.raises(ConfigError, match="has no effect: the start alone waits"):
        SettingsByRole({f"{prefix}bootstrap.wait.ms": 5})
    assert SettingsByRole({"main.consumer.bootstrap.wait.ms": 5}).of(ClientRole.MAIN_CONSUMER)


def test_a_nearer_setting_replaces_one_that_has_another_name() -> None:
    """`ssl.ca.location` is `ssl.truststore.location` by librdkafka's name: both given, there would be two."""
    settings = SettingsByRole(
        {"ssl.truststore.location": "all.pem", "admin.ssl.ca.location": "admin.pem"}
    )
    assert settings.of(ClientRole.ADMIN) == {"ssl_truststore_location": "admin.pem"}
    assert settings.of(ClientRole.PRODUCER) == {"ssl_truststore_location": "all.pem"}


async def test_each_client_is_made_with_the_settings_of_its_role() -> None:
    supplier = DefaultClientSupplier(
        SERVERS
        | {
            "request.timeout.ms": 11_000,
            "main.consumer.request.timeout.ms": 12_000,
            "restore.consumer.request.timeout.ms": 13_000,
            "global.consumer.request.timeout.ms": 14_000,
            "producer.request.timeout.ms": 15_000,
            "admin.request.timeout.ms": 16_000,
        }
    )
    assert supplier.settings_of_member("m")["request_timeout_ms"] == 12_000
    consumer = supplier.consumer("c", read_committed=True)
    restoring = supplier.reader("r", read_committed=True)
    of_globals = supplier.global_reader("g", read_committed=False)
    producer, admin = supplier.producer("p", None), supplier.admin("a")
    made = (consumer, restoring, of_globals, producer, admin)
    assert [each.config.request_timeout_ms for each in made] == [
        12_000,
        13_000,
        14_000,
        15_000,
        16_000,
    ]
    assert [each.config.isolation_level for each in (consumer, restoring, of_globals)] == [
        "read_committed",
        "read_committed",
        "read_uncommitted",
    ]


async def test_an_application_at_least_once_may_read_what_is_committed() -> None:
    supplier = DefaultClientSupplier(SERVERS | {"main.consumer.isolation.level": "read_committed"})
    assert supplier.consumer("c", read_committed=False).config.isolation_level == "read_committed"
    # The reader says where source topics end, too: as the consumer sees it.
    assert supplier.reader("r", read_committed=False).config.isolation_level == "read_committed"
    of_globals = supplier.global_reader("g", read_committed=False)
    assert of_globals.config.isolation_level == "read_uncommitted"


@pytest.mark.parametrize("prefix", ["", *PREFIXES_OF_CLIENTS])
def test_what_the_application_decides_is_refused_under_every_prefix(prefix: str) -> None:
    for name, instead in DECIDED.items():
        with pytest.raises(ConfigError) as refused:
            DefaultClientSupplier({prefix + name.replace("_", "."): "x"})
        assert f"is decided by the application: leave it out; {instead}" in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("consumer.isolation.level", "read_uncommitted", "consumer.isolation.level may be read_committed alone"),
        ("restore.consumer.fetch.min.byte", 1, "restore.consumer.fetch.min.byte: ConsumerConfig has no setting fetch_min_byte; did you mean fetch_min_bytes?"),
        ("admin.fetch.min.bytes", 1, "admin.fetch.min.bytes: AdminConfig has no setting fetch_min_bytes"),
        ("restore.consumer.linger.ms", 1, "it is a setting of Producer"),
        ("main.consumr.fetch.min.bytes", 1, "no client has a setting main.consumr.fetch.min.bytes; did you mean main.consumer.fetch.min.bytes?"),
        ("num.stream.threads", 2, "no client has a setting num.stream.threads: write StreamsConfig(num_stream_threads=)"),
        ("default.key.serde", 2, "write default_key="),
        ("topic.cleanup.policy", "delete", "Materialized(logging={...})"),
        ("producer.linger.ms", "soon", "producer.linger.ms"),
        ("fetch.min.byte", 1, "did you mean fetch_min_bytes?"),
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_used_is_explained(key: str, value: object, sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        DefaultClientSupplier({key: value})
    assert sentence in str(refused.value)


@pytest.mark.parametrize("prefix", ["", "main.consumer."])
def test_a_setting_in_two_spellings_is_refused(prefix: str) -> None:
    dotted = f"{prefix}fetch.min.bytes"
    with pytest.raises(ConfigError, match="are the same setting"):
        SettingsByRole({dotted: 1, dotted.replace(".", "_"): 1})


def test_the_prefixes_that_are_explained_are_those_that_there_are() -> None:
    assert set(PREFIXES_OF_CLIENTS) == {f"{role}." for role in ClientRole} | {"consumer."}


def test_a_prefixed_setting_in_the_config_says_where_it_goes() -> None:
    wrong: dict[str, object] = {"main.consumer.fetch.min.bytes": 1}
    with pytest.raises(
        TypeError, match="the third argument of KafkaStreams takes it with its prefix"
    ):
        StreamsConfig("app", **wrong)  # type: ignore[arg-type]  # what is shown


def test_a_file_of_kafka_streams_gives_the_settings_of_clients(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "streams.properties"
    file.write_text(
        "application.id=words\nbootstrap.servers=b:1\nnum.stream.threads=2\nrestore.consumer.fetch.max.bytes=9\n"
        "default.key.serde=org.example.Serde\nclient.tag.zone=a\nenable.auto.commit=true\nisolation.level=read_uncommitted\n"
        "key.deserializer=org.example.Some\nnobody.has.this=1\n"
    )
    with caplog.at_level(logging.WARNING):
        found = read_streams_properties(file)
    assert found == {"bootstrap.servers": "b:1", "restore.consumer.fetch.max.bytes": "9"}
    assert DefaultClientSupplier(found).reader is not None
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 3
    assert "enable.auto.commit is decided by the application" in told[0]
    assert "isolation.level may be read_committed alone" in told[1]
    assert "has a setting named nobody.has.this" in told[2]


def test_a_misspelt_name_behind_a_prefix_in_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "streams.properties"
    file.write_text("admin.linger.ms=1\n")
    with pytest.raises(ConfigError, match=r"admin\.linger\.ms"):
        read_streams_properties(file)
