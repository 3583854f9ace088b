"""Settings are checked before anything is connected, and errors say what to write."""

from __future__ import annotations

from typing import get_type_hints

import pytest

from millstream.clients.config import (
    AdminConfig,
    AdminSettings,
    ConsumerConfig,
    ConsumerSettings,
    ProducerConfig,
    ProducerSettings,
)
from millstream.clients.config.settings import documentation, parse_settings, setting_names
from millstream.errors import ConfigError
from millstream.net.client.core.addresses import Address, parse_bootstrap_servers


def test_an_unknown_key_is_refused_and_the_nearest_one_named() -> None:
    with pytest.raises(ConfigError, match="has no setting linger; did you mean linger_ms"):
        parse_settings(ProducerConfig, {"linger": 5})


def test_an_administrator_waits_half_a_minute_for_a_request_and_a_minute_in_all() -> None:
    config = parse_settings(AdminConfig, {"bootstrap_servers": "a:1"})
    assert (config.request_timeout_ms, config.default_api_timeout_ms) == (30_000, 60_000)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("linger_ms", "5s", "linger_ms must be an integer, got '5s'"),
        ("linger.ms", "-1", "linger.ms must be between 0 and 2147483647, got -1"),
        ("linger_ms", True, "linger_ms must be an integer, got True"),
        ("linger_ms", -1, "linger_ms must be between 0 and 2147483647, got -1"),
        ("acks", 2, 'acks must be "all", 1 or 0, got 2'),
        (
            "compression_type",
            "brotli",
            "compression_type must be one of none, gzip, snappy, lz4, zstd",
        ),
        ("enable_idempotence", 1, "enable_idempotence must be True or False"),
        ("bootstrap_servers", "", "bootstrap_servers is empty"),
        ("ssl_endpoint_identification_algorithm", "htps", 'must be "https", or ""'),
        ("ssl_context", "default", "ssl_context must be an ssl.SSLContext"),
        ("sasl_oauthbearer_token_provider", "x", "must be a function"),
        ("bootstrap_servers", "host:http", "'host:http' is not host:port"),
        ("bootstrap_servers", "http://host:9092/", "is not host:port"),
        ("bootstrap_servers", "a b:9092", "'a b:9092' is not host:port"),
        ("bootstrap_servers", "\x1b[2J:9092", "is not host:port"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_key(
    key: str, value: object, sentence: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings(ProducerConfig, {key: value})
    assert sentence in str(caught.value)


def test_keys_may_have_dots_and_values_may_be_text_as_in_property_files() -> None:
    config = parse_settings(
        ConsumerConfig,
        {
            "bootstrap.servers": "a:1, b:2",
            "fetch.min.bytes": " 7",
            "enable.auto.commit": "False",
            "partition.assignment.strategy": "range, roundrobin",
            "security.protocol": "plaintext",
        },
    )
    assert config.bootstrap_servers == (Address("a", 1), Address("b", 2))
    assert (config.fetch_min_bytes, config.enable_auto_commit) == (7, False)
    assert config.partition_assignment_strategy == ("range", "roundrobin")
    assert config.security_protocol == "PLAINTEXT"


def test_one_setting_under_two_names_is_refused() -> None:
    for given in (
        {"linger.ms": 5, "linger_ms": 5},
        {"ssl_ca_location": "a", "ssl_truststore_location": "a"},
    ):
        with pytest.raises(ConfigError, match="are the same setting; give one of them"):
            parse_settings(ProducerConfig, given)


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        ("metric.reporters", "there are no metric reporters"),
        ("ssl_keystore_password", "ssl_key_password opens an encrypted private key"),
        ("sasl.kerberos.service.name", "GSSAPI is not built; use SCRAM-SHA-512"),
    ],
)
def test_a_key_of_java_alone_is_refused_with_what_to_do_instead(key: str, instead: str) -> None:
    with pytest.raises(ConfigError, match=f"ProducerConfig has no setting {key}: .*{instead}"):
        parse_settings(ProducerConfig, {key: "x"})


def test_secrets_are_in_no_repr_and_no_error() -> None:
    config = parse_settings(
        ProducerConfig, {"sasl_password": "hidden", "ssl_key_password": "hidden"}
    )
    assert "hidden" not in repr(config)
    with pytest.raises(ConfigError) as caught:
        parse_settings(ProducerConfig, {"sasl_password": b"hidden"})
    assert str(caught.value) == "sasl_password must be a non-empty string, got a bytes"


def test_idempotence_needs_all_acks_and_at_most_five_in_flight() -> None:
    with pytest.raises(ConfigError, match='needs acks="all"'):
        parse_settings(ProducerConfig, {"acks": 1})
    with pytest.raises(ConfigError, match="up to 5, got 6"):
        parse_settings(ProducerConfig, {"max_in_flight_requests_per_connection": 6})
    assert parse_settings(ProducerConfig, {"acks": 1, "enable_idempotence": False}).acks == 1


def test_delivery_cannot_be_shorter_than_one_request() -> None:
    with pytest.raises(ConfigError, match=r"linger_ms \+ request_timeout_ms \(30005\), got 1000"):
        parse_settings(ProducerConfig, {"delivery_timeout_ms": 1000})


def test_defaults_are_those_of_kafka() -> None:
    producer, consumer = ProducerConfig(), ConsumerConfig()
    assert (producer.acks, producer.linger_ms, producer.batch_size) == (-1, 5, 16_384)
    assert (consumer.session_timeout_ms, consumer.heartbeat_interval_ms) == (45_000, 3_000)
    assert consumer.partition_assignment_strategy == ("range", "cooperative-sticky")


@pytest.mark.parametrize(
    ("config", "settings"),
    [
        (ProducerConfig, ProducerSettings),
        (ConsumerConfig, ConsumerSettings),
        (AdminConfig, AdminSettings),
    ],
)
def test_keyword_arguments_and_table_name_the_same_settings(config: type, settings: type) -> None:
    assert set(setting_names(config)) == set(get_type_hints(settings))


def test_every_setting_is_documented() -> None:
    for config in (ProducerConfig, ConsumerConfig, AdminConfig):
        assert all(sentence for _, _, sentence in documentation(config))


def test_an_address_may_be_written_as_a_listener_is() -> None:
    """As Java's clients take it (Utils.HOST_PORT_PATTERN): `kafka-topics --bootstrap-server PLAINTEXT://a:1`."""
    given = "PLAINTEXT://a:1,SASL_SSL://[::1]:2,http://b.example-1.org"
    expected = (Address("a", 1), Address("::1", 2), Address("b.example-1.org", 9092))
    assert parse_bootstrap_servers("bootstrap_servers", given) == expected


def test_bootstrap_servers_may_be_a_text_or_a_list_and_default_to_port_9092() -> None:
    expected = (Address("a", 9092), Address("b", 1234), Address("::1", 9093))
    assert parse_bootstrap_servers("bootstrap_servers", "a,b:1234,[::1]:9093") == expected
    assert parse_bootstrap_servers("bootstrap_servers", ["a", "b:1234", "[::1]:9093"]) == expected
    assert str(Address("::1", 9093)) == "[::1]:9093"
