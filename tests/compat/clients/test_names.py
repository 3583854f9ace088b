"""Every public name of the clients of kafka-python, aiokafka and confluent-kafka is one of ours, or our error says what it is here."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from millstream import clients
from millstream.clients import blocking
from millstream.clients.config.admin import AdminConfig
from millstream.clients.config.consumer import ConsumerConfig
from millstream.clients.config.producer import ProducerConfig
from millstream.clients.config.settings import parse_settings, setting_names
from millstream.errors import ConfigError
from millstream.foreign_names.explanation import explanation

pytestmark = [
    pytest.mark.compat,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning"
    ),  # of kafka-python, when it is imported
]

ARGUMENTS = {"self", "key_serializer", "value_serializer", "key_deserializer", "value_deserializer"}
CLASSES = [
    ("kafka", "KafkaProducer", blocking.Producer, ProducerConfig),
    ("kafka", "KafkaConsumer", blocking.Consumer, ConsumerConfig),
    ("kafka", "KafkaAdminClient", blocking.Admin, AdminConfig),
    ("kafka.producer.future", "FutureRecordMetadata", blocking.Delivery, None),
    ("aiokafka", "AIOKafkaProducer", clients.Producer, ProducerConfig),
    ("aiokafka", "AIOKafkaConsumer", clients.Consumer, ConsumerConfig),
    ("confluent_kafka", "Producer", blocking.Producer, None),
    ("confluent_kafka", "Consumer", blocking.Consumer, None),
    ("confluent_kafka.admin", "AdminClient", blocking.Admin, None),
]


@pytest.mark.parametrize(("module", "name", "ours", "config"), CLASSES)
def test_every_method_of_theirs_is_there_or_explained(
    module: str, name: str, ours: type, config: type | None
) -> None:
    theirs = getattr(importlib.import_module(module), name)
    names = [each for each in dir(theirs) if each.islower() and not each.startswith("_")]
    told = {each: explanation(ours, each) for each in names if not hasattr(ours, each)}
    assert told
    assert not {each: text for each, text in told.items() if ": here it is " not in text}


class Loop:
    """Of a blocking client."""

    def run(self, work: Coroutine[Any, Any, object]) -> object:
        return asyncio.run(work)

    def call(self, work: Callable[[], object]) -> object:
        return work()


def call(client: Any, method: str, argument: str) -> None:
    client._loop, client._client = Loop(), None
    result = getattr(client, method)(**{argument: None})
    if inspect.iscoroutine(result):
        asyncio.run(result)


@pytest.mark.parametrize(("module", "name", "ours", "config"), CLASSES[:3] + CLASSES[4:6])
def test_every_argument_of_a_method_of_theirs_is_there_or_explained(
    module: str, name: str, ours: type, config: type | None
) -> None:
    """But of `send`, which is called for each record: there the error is Python's own. Those of confluent-kafka have no signatures."""
    theirs = getattr(importlib.import_module(module), name)
    tried = 0
    for method, asked in inspect.getmembers(theirs, inspect.isfunction):
        mine = vars(ours).get(method)
        if method.startswith("_") or method == "send" or not inspect.isfunction(mine):
            continue
        foreign = set(inspect.signature(asked).parameters) - set(inspect.signature(mine).parameters)
        for argument in foreign - {"self", "args", "kwargs"}:
            tried += 1
            with pytest.raises(
                TypeError, match=rf"^{ours.__name__}\.{method} takes no {argument}[:;] "
            ):
                call(object.__new__(ours), method, argument)
    assert tried > 1


@pytest.mark.parametrize(("module", "name", "ours", "config"), CLASSES)
def test_every_setting_of_theirs_is_there_or_explained(
    module: str, name: str, ours: type, config: type | None
) -> None:
    if config is None:  # their settings are no parameters: tests/golden/librdkafka_settings.txt
        return
    theirs = getattr(importlib.import_module(module), name)
    given = getattr(theirs, "DEFAULT_CONFIG", None) or inspect.signature(theirs).parameters
    names = set(given) - ARGUMENTS - set(setting_names(config))
    assert names
    for setting in names:
        with pytest.raises(ConfigError) as error:
            parse_settings(config, {setting: None})
        assert str(error.value).startswith(f"{config.__name__} has no setting {setting}: ")
