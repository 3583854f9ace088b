"""The application as a task host needs it: pickled by the driver, carried by Spark, unpickled once in each host."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from millstream.errors import ConfigError
from millstream.spark.kafka_settings import KafkaSettings
from millstream.streams.config import StreamsConfig
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.topology.topology import Topology


@dataclass(frozen=True, slots=True)
class HostedApplication:
    """`state_directory` holds the stores of all its tasks on a machine."""

    topology: Topology
    config: StreamsConfig
    kafka: KafkaSettings
    state_directory: str

    def spec(self, sub_topology: int, topics: tuple[str, ...]) -> TaskSpec:
        """Returns what a task is made from that reads these topics."""
        return TaskSpec(
            topology=self.topology,
            sub_topology=sub_topology,
            config=self.config,
            state_directory=self.state_directory,
            topics=topics,
        )

    def pickled(self) -> bytes:
        """Raises ConfigError where the application holds what cannot travel."""
        from pyspark import cloudpickle

        try:
            return bytes(cloudpickle.dumps(self))  # type: ignore[no-untyped-call]  # it has no types
        except Exception as error:
            raise ConfigError(
                f"application {self.config.application_id} cannot be sent to Spark's workers: {error}. Functions, serdes and "
                "settings must not hold what belongs to one process, as connections, locks and open files do: make these where "
                "they are used"
            ) from error


def digest_of(pickled: bytes) -> str:
    return hashlib.sha256(pickled).hexdigest()[:16]
