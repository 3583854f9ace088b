"""A `client.properties` is one file for clients of all kinds."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from millstream.clients import (
    Admin,
    Consumer,
    Producer,
    RangeReader,
    ShareSpout,
    Spout,
    blocking,
    read_client_properties,
)
from millstream.errors import ConfigError

TEXT = """\
bootstrap.servers=broker:9092
security.protocol=SASL_SSL
ssl.ca.location=/authority.pem
linger.ms=7
group.id=app
key.serializer=org.apache.kafka.common.serialization.StringSerializer
"""
ALL_HAVE = {
    "bootstrap_servers": "broker:9092",
    "security_protocol": "SASL_SSL",
    "ssl_truststore_location": "/authority.pem",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(TEXT)
    return path


@pytest.mark.parametrize(
    ("client", "more"),
    [
        (None, {}),
        (Admin, {}),
        (Producer, {"linger_ms": "7"}),
        (blocking.Producer, {"linger_ms": "7"}),
        (Consumer, {"group_id": "app"}),
        (RangeReader, {"group_id": "app"}),
    ],
)
def test_each_client_gets_what_it_has(
    client: type[object] | None, more: dict[str, str], file: Path
) -> None:
    assert read_client_properties(file, client) == ALL_HAVE | more


class Mine(Consumer[bytes, bytes]):
    """A client of a user."""


@pytest.mark.parametrize(
    ("client", "more"),
    [
        (Mine, {"group_id": "app", "isolation_level": "read_committed", "enable_auto_commit": "true"}),
        (Spout, {"group_id": "app", "isolation_level": "read_committed", "retries_max": "3"}),
        (ShareSpout, {"group_id": "app", "retries_max": "3"}),
    ],
)  # fmt: skip
def test_spouts_and_classes_of_users_get_what_they_have(
    client: type[object], more: dict[str, str], file: Path
) -> None:
    """A spout commits itself: what the file says about that is for consumers."""
    with file.open("a") as text:
        text.write("isolation.level=read_committed\nenable.auto.commit=true\nretries.max=3\n")
    assert read_client_properties(file, client) == ALL_HAVE | more


class Producing:
    """Of that name, or nearly so, and no client."""


@pytest.mark.parametrize("client", [dict, Producing, type("Producer", (), {})])
def test_a_class_that_is_no_client_is_refused(client: type[object], file: Path) -> None:
    with pytest.raises(ConfigError, match=f"{client.__name__} is not one of Admin, Consumer"):
        read_client_properties(file, client)


def test_names_that_no_client_has_are_told(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "millstream.clients"):
        read_client_properties(file)
        assert not caplog.records
        with file.open("a") as more:
            more.write("liinger.ms=3\n")
        read_client_properties(str(file))
    assert caplog.messages == [f"{file}: no client has a setting named liinger.ms"]


def test_a_file_that_cannot_be_read_is_a_setting_that_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"client\.properties cannot be read: No such file"):
        read_client_properties(tmp_path / "client.properties")
    (tmp_path / "client.properties").write_bytes(b"a=\xff")
    with pytest.raises(ConfigError, match="is not a text in UTF-8"):
        read_client_properties(tmp_path / "client.properties")


def test_settings_for_applications_of_kafka_streams_are_no_unknown_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=b:1\nrestore.consumer.fetch.max.bytes=7\nmain.nobody=1\n")
    assert read_client_properties(file) == {"bootstrap_servers": "b:1"}
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.endswith("no client has a setting named main.nobody")


def test_a_file_without_an_end_is_no_file_of_settings() -> None:
    with pytest.raises(ConfigError, match="/dev/zero is no file of settings: it has more than"):
        read_client_properties("/dev/zero")
