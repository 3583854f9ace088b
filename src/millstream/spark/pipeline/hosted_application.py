"""The application as a task host needs it: pickled by the driver, carried by Spark, unpickled once in each host."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from millstream.errors import ConfigError
from millstream.spark.kafka_settings import KafkaSettings
from millstream.streams.config import StreamsConfig
from millstream.streams.runtime.snapshots.description import SnapshotPlan
from millstream.streams.runtime.spec import TaskSpec
from millstream.streams.topology.alignment import Alignment
from millstream.streams.topology.topology import Topology

EXECUTOR_PLACEHOLDER: Final = "{executor}"


@dataclass(frozen=True, slots=True)
class HostedApplication:
    """`directory` holds the stores of its tasks on a machine, as `RunnerOptions` has it, and `snapshots`
    copies of them elsewhere.
    """

    topology: Topology
    config: StreamsConfig
    kafka: KafkaSettings
    directory: str | None
    snapshots: SnapshotPlan | None = None

    def in_executor(self, number: str) -> HostedApplication:
        """The application with the directory that this executor has for it."""
        directory = self.directory or f"{tempfile.gettempdir()}/millstream"
        return replace(self, directory=directory.replace(EXECUTOR_PLACEHOLDER, number))

    @property
    def state_directory(self) -> Path:
        assert self.directory is not None, "an executor has chosen one"
        return Path(self.directory, "state", self.config.application_id)

    def spec(self, sub_topology: int, topics: tuple[str, ...]) -> TaskSpec:
        """Returns what a task is made from that reads these topics."""
        return TaskSpec(
            topology=self.topology,
            sub_topology=sub_topology,
            config=self.config,
            state_directory=str(self.state_directory),
            topics=topics,
            snapshots=self.snapshots,
        )

    @property
    def alignment(self) -> Alignment:
        """The repartition topics that are read in the order of time."""
        return self.spec(0, ()).alignment

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
