"""Records that were given up, on a topic of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from millstream.clients.config import ProducerConfig, ProducerSettings
from millstream.clients.config.settings import setting_names
from millstream.clients.producer.delivery import Delivery
from millstream.clients.producer.producer import Producer
from millstream.clients.spout.core.attempts import GivenUp
from millstream.net.client.environment import Environment

TOPIC_HEADER = "dead_letter.topic"
PARTITION_HEADER = "dead_letter.partition"
OFFSET_HEADER = "dead_letter.offset"
ERROR_HEADER = "dead_letter.error"
ATTEMPTS_HEADER = "dead_letter.attempts"


class DeadLetters:
    """Key, value and headers as they were read, and five headers more that say where from and why."""

    def __init__(
        self, topic: str, settings: Mapping[str, object], environment: Environment | None
    ) -> None:
        """Of a consumer's `settings` those are taken that a producer has as well: how to reach the cluster."""
        known = setting_names(ProducerConfig)
        shared = {key: value for key, value in settings.items() if key.replace(".", "_") in known}
        self._topic = topic
        self._producer = Producer(environment=environment, **cast("ProducerSettings", shared))

    async def send(self, given_up: Iterable[GivenUp]) -> None:
        """Returns when all of them are written."""
        deliveries: list[Delivery] = []
        for each in given_up:
            record = each.attempt.record
            deliveries.append(
                await self._producer.send(
                    self._topic,
                    record.value,
                    key=record.key,
                    headers=[*record.headers, *_reasons(each)],
                )
            )
        for delivery in deliveries:
            await delivery

    async def close(self) -> None:
        await self._producer.close()


def _reasons(given_up: GivenUp) -> list[tuple[str, bytes | None]]:
    record, error = given_up.attempt.record, given_up.error
    told = {
        TOPIC_HEADER: record.topic,
        PARTITION_HEADER: str(record.partition),
        OFFSET_HEADER: str(record.offset),
        ERROR_HEADER: "" if error is None else f"{type(error).__name__}: {error}",
        ATTEMPTS_HEADER: str(given_up.attempt.number),
    }
    return [(name, value.encode()) for name, value in told.items()]
