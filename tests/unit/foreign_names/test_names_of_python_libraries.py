"""Who writes the name of another library's client is told what it is here, whatever name it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream import clients
from millstream.clients import blocking
from millstream.clients.config.consumer import ConsumerConfig
from millstream.clients.config.producer import ProducerConfig
from millstream.clients.config.settings import parse_settings, setting_names
from millstream.errors import ConfigError
from millstream.foreign_names import client_settings

ROOT = Path(__file__).resolve().parents[3]
LIBRDKAFKA = [
    line
    for line in (ROOT / "tests/golden/librdkafka_settings.txt").read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("delivery", [clients.Delivery, blocking.Delivery])
def test_methods_of_a_future_are_explained_by_a_delivery(delivery: type) -> None:
    for name in ("get", "add_callback", "add_errback", "add_both", "succeeded", "failed", "exception", "value", "done"):  # fmt: skip
        with pytest.raises(
            AttributeError,
            match=f"{delivery.__name__} has no {name}: here it is .*(result|on_delivery|is_done)",
        ):
            getattr(object.__new__(delivery), name)


@pytest.mark.parametrize("setting", LIBRDKAFKA)
def test_every_setting_of_librdkafka_is_there_or_explained(setting: str) -> None:
    """Of one client at least; the others have no producer's or consumer's settings."""
    told = []
    for config in (ProducerConfig, ConsumerConfig):
        if setting.replace(".", "_") in setting_names(config):
            return
        with pytest.raises(ConfigError) as error:
            parse_settings(config, {setting: None})
        told.append(f"has no setting {setting}: " in str(error.value))
    assert any(told)


def test_settings_that_have_another_name_have_one_that_exists() -> None:
    known = set(setting_names(ProducerConfig)) | set(setting_names(ConsumerConfig))
    assert set(client_settings.RENAMED.values()) <= known
    instead = {
        name
        for name, text in client_settings.INSTEAD.items()
        if not text.startswith("it is a setting of ")
    }
    assert not known & (set(client_settings.RENAMED) | instead)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"consumer_timeout_ms": 1000},
            (
                "ConsumerConfig has no setting consumer_timeout_ms: iteration waits as long as it takes; "
                "poll(timeout_ms=...) returns after that time"
            ),
        ),
        (
            {"fetch.wait.max.ms": 10},
            "ConsumerConfig has no setting fetch.wait.max.ms: here it is fetch_max_wait_ms",
        ),
        (
            {"sesion_timeout_ms": 10},
            "ConsumerConfig has no setting sesion_timeout_ms; did you mean session_timeout_ms?",
        ),
    ],
)
def test_a_setting_is_answered_with_what_it_means_and_not_with_what_is_spelled_like_it(
    given: dict[str, object], told: str
) -> None:
    with pytest.raises(ConfigError) as error:
        parse_settings(ConsumerConfig, given)
    assert str(error.value) == told


@pytest.mark.parametrize("consumer", [clients.Consumer, blocking.Consumer])
def test_topics_given_to_a_consumer_by_position_are_answered_with_subscribe(consumer: type) -> None:
    with pytest.raises(TypeError) as error:
        consumer("orders", bootstrap_servers="localhost:9092")
    assert str(error.value) == (
        "Consumer takes keyword arguments only: "
        'Consumer(bootstrap_servers=..., group_id=...), then subscribe(["orders"])'
    )


@pytest.mark.parametrize("kind", ["Producer", "Consumer", "ShareConsumer", "Admin"])
@pytest.mark.parametrize("package", [clients, blocking])
def test_a_dictionary_of_settings_is_answered_with_keyword_arguments(
    package: object, kind: str
) -> None:
    with pytest.raises(TypeError) as error:
        getattr(package, kind)({"bootstrap.servers": "localhost:9092"})
    assert str(error.value) == (
        f"{kind} takes no mapping; its settings are keyword arguments: {kind}(**settings), with dots or underscores"
    )


@pytest.mark.parametrize(
    ("package", "name", "told"),
    [
        (
            clients,
            "AIOKafkaProducer",
            "millstream.clients has no AIOKafkaProducer: here it is Producer",
        ),
        (
            blocking,
            "KafkaConsumer",
            (
                "millstream.clients.blocking has no KafkaConsumer: here it is Consumer; "
                "millstream.clients.blocking has the one without asyncio"
            ),
        ),
    ],
)
def test_an_import_of_their_class_is_answered_with_ours(
    package: object, name: str, told: str
) -> None:
    with pytest.raises(ImportError) as error:
        getattr(package, name)
    assert str(error.value) == told
