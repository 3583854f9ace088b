"""States in a compacted topic. One process writes them, and whoever comes later takes over.

All of one call is one transaction, so that it is written whole or not at all. The topic is read once, when
the first key is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from millstream.clients import Producer
from millstream.clients.admin import ConfigResource, ConfigResourceType
from millstream.errors import ConfigError
from millstream.spark.connections import Connections
from millstream.spark.kafka_settings import for_both
from millstream.spark.source.positions import EARLIEST, LATEST

_COMPACTED: Final = "compact"


class TopicBacking:
    """For the driver, where functions of `foreachBatch` run. Settings are those of clients, by Kafka's names."""

    def __init__(self, topic: str, settings: Mapping[str, object]) -> None:
        """Takes a topic that is there, with `cleanup.policy=compact`. Its values are kept in memory, too."""
        self._topic = topic
        self._link = Connections(for_both(settings))
        self._values: dict[str, bytes] | None = None
        self._places: dict[str, int] = {}
        """The partition of each key: it stays there when partitions are added, or an older value stood beside it."""

    def multi_get(self, keys: Sequence[str]) -> list[bytes | None]:
        values = self._opened()
        return [values.get(key) for key in keys]

    def multi_put(self, values: Mapping[str, bytes]) -> None:
        """Reads the topic again after an error: what was written may be in it.

        Raises ProducerFenced when another process has taken over.
        """
        known = self._opened()
        try:
            written = self._link.run(_write(self._producer(), self._topic, values, self._places))
        except BaseException:
            self._values = None
            self._link.discard_transactional_producer(self._transactional_id)
            raise
        known.update(values)
        self._places |= written

    def close(self) -> None:
        self._values = None
        self._link.close()

    @property
    def _transactional_id(self) -> str:
        return f"millstream-state-{self._topic}"

    def _producer(self) -> Producer:
        return self._link.transactional_producer(self._transactional_id)

    def _opened(self) -> dict[str, bytes]:
        """Takes over first, which ends what another process has begun: nothing is added to what is read then."""
        if self._values is None:
            self._link.require_listener(self._topic)
            self._require_compacted()
            self._link.run(self._producer().init_transactions())
            self._values = self._read()
        return self._values

    def _require_compacted(self) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, self._topic)
        found = self._link.run(self._link.admin().describe_configs([resource]))
        policy = found.result(resource)["cleanup.policy"].value
        if policy != _COMPACTED:
            raise ConfigError(
                f"topic {self._topic} has cleanup.policy={policy}, and would lose states: set it to {_COMPACTED}"
            )

    def _read(self) -> dict[str, bytes]:
        values: dict[str, bytes] = {}
        reader = self._link.reader()
        starts = self._link.run(reader.offsets(self._topic, EARLIEST))
        for partition, end in self._link.run(reader.offsets(self._topic, LATEST)).items():
            batches = reader.read(self._topic, partition, starts[partition], end)
            for rows in self._link.iterate(batches):
                keys: list[bytes] = rows.column("key").to_pylist()
                records: list[bytes] = rows.column("value").to_pylist()
                names = [key.decode() for key in keys]
                values |= dict(zip(names, records, strict=True))
                self._places |= dict.fromkeys(names, partition)
        return values


async def _write(
    producer: Producer, topic: str, values: Mapping[str, bytes], places: Mapping[str, int]
) -> dict[str, int]:
    """Returns the partition of each key."""
    async with producer.transaction():
        sent = {
            key: await producer.send(topic, value, key=key.encode(), partition=places.get(key))
            for key, value in values.items()
        }
    return {key: (await delivery).partition for key, delivery in sent.items()}
