"""Applications whose users lack a permission on Apache Kafka: the thread ends with one error, which names the resource and what to allow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from millstream.clients.admin import Operation
from millstream.streams import StreamsConfig
from millstream.streams.application.kafka_streams import KafkaStreams
from millstream.streams.application.states import ApplicationState
from millstream.streams.handlers import OnUncaughtError
from tests.compat.permissions.users import (
    Allowed,
    KafkaWithUsers,
    all_topics_with,
    describe_topic,
    read_group,
    read_topic,
    write_topic,
    write_transactions,
)
from tests.integration.streams.application.instances import counting
from tests.oracle.clients.kafka_cluster import is_available
from tests.patience import LONG_ENOUGH_S

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(
        not is_available(), reason="needs Java and MILLSTREAM_KAFKA_CLASSPATH, where the jars are"
    ),
]

GUARANTEES = ("at_least_once", "exactly_once_v2")
PROTOCOLS = ("classic", "streams")


class Counting:
    """An application that counts words, of a user who may do all that it needs but for one thing."""

    def __init__(self, kafka: KafkaWithUsers, directory: Path, name: str) -> None:
        self.kafka, self.directory, self.name = kafka, directory, name
        self.source, self.sink = kafka.new_topic(records=3), kafka.new_topic()
        self.allowed = {
            "its group": [read_group(name)],
            "its source": [read_topic(self.source)],
            "its sink": [write_topic(self.sink)],
            "its internal topics": [all_topics_with(f"{name}-")],
            "its transactions": [write_transactions(name)],
        }

    async def refusal(
        self, lacking: str, *instead: Allowed, guarantee: str, protocol: str
    ) -> Exception:
        rest = [each for name, all_of in self.allowed.items() if name != lacking for each in all_of]
        settings = await asyncio.to_thread(self.kafka.user, *rest, *instead)
        told: list[Exception] = []

        def shut_down(error: Exception) -> OnUncaughtError:
            told.append(error)
            return OnUncaughtError.SHUTDOWN_CLIENT

        config = StreamsConfig(
            application_id=self.name,
            processing_guarantee=guarantee,
            group_protocol=protocol,
            state_dir=str(self.directory),
            commit_interval_ms=100,
        )
        app = KafkaStreams(
            counting(self.source, self.sink), config, settings, on_uncaught_error=shut_down
        )
        try:
            await app.start()
            with pytest.raises(Exception) as ended:  # whatever ends it is looked at
                async with asyncio.timeout(LONG_ENOUGH_S):
                    await app.wait_ended()
            assert app.state is ApplicationState.ERROR
            assert told == [app.error], "the handler is given the error itself"
            assert (type(ended.value), str(ended.value)) == (type(app.error), str(app.error))
        finally:
            await app.close()
        return told[0]


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return count()


@pytest.fixture
def counted(kafka: KafkaWithUsers, tmp_path: Path, numbers: Iterator[int]) -> Counting:
    return Counting(kafka, tmp_path, f"counting{next(numbers)}x")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_without_its_group(counted: Counting, protocol: str) -> None:
    error = await counted.refusal("its group", guarantee="at_least_once", protocol=protocol)
    sentence = f"group '{counted.name}': Not authorized for this group: its user needs READ on it"
    assert sentence in str(error)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("is_seen", [True, False])
async def test_without_its_source(counted: Counting, protocol: str, *, is_seen: bool) -> None:
    seen = [describe_topic(counted.source)] if is_seen else []
    error = await counted.refusal("its source", *seen, guarantee="at_least_once", protocol=protocol)
    assert counted.source in str(error)
    assert "Not authorized for this topic: its user needs READ on it to read" in str(error)


@pytest.mark.parametrize("guarantee", GUARANTEES)
@pytest.mark.parametrize("is_seen", [True, False])
async def test_without_its_sink(counted: Counting, guarantee: str, *, is_seen: bool) -> None:
    seen = [describe_topic(counted.sink)] if is_seen else []
    error = await counted.refusal("its sink", *seen, guarantee=guarantee, protocol="classic")
    assert counted.sink in str(error)
    assert "Not authorized for this topic: its user needs" in str(error)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("is_seen", [True, False])
async def test_without_leave_to_create_its_internal_topics(
    counted: Counting, protocol: str, *, is_seen: bool
) -> None:
    seen = [all_topics_with(f"{counted.name}-", Operation.DESCRIBE)] if is_seen else []
    error = await counted.refusal(
        "its internal topics", *seen, guarantee="at_least_once", protocol=protocol
    )
    assert f"{counted.name}-by-value-repartition" in str(error)
    assert "its user needs READ on it to read, WRITE to write, CREATE to create it" in str(error)


async def test_without_its_transactions(counted: Counting) -> None:
    error = await counted.refusal(
        "its transactions", guarantee="exactly_once_v2", protocol="classic"
    )
    sentence = "Not authorized for this transactional id: its user needs WRITE on it"
    assert f"transactional id '{counted.name}@" in str(error)
    assert sentence in str(error)
