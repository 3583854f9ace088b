"""The options of an application on Spark."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from millstream.errors import ConfigError
from millstream.foreign_names.explanation import explain_construction, explain_misspellings
from millstream.foreign_names.streams_settings import PREFIXES_OF_CLIENTS
from millstream.quoting import some_of
from millstream.streams.runtime.snapshots.description import INTERVAL_MS

_LOGGER: Final = logging.getLogger(__name__)
RECORDS_PER_TRIGGER_MAX: Final = 200_000
"""Some tens of megabytes of small records, with what they become in the kernel some hundreds, over all hosts."""
DISCOVERY_INTERVAL_MS: Final = 30_000
"""A tenth of Kafka's metadata.max.age.ms: partitions that come are read so late."""


@explain_construction
@explain_misspellings
@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """The cluster of an application, the place of its stores, and the limits of what it reads at a time."""

    bootstrap_servers: str
    directory: str | None = None
    """Holds the stores on each machine; losing it costs the time to restore them. None: below the
    system's temporary directory.

    `{executor}` in it is the number of the executor: executors on one machine then share no disk space.
    """

    records_per_trigger_max: int | None = RECORDS_PER_TRIGGER_MAX
    """Records of one micro-batch, over all partitions; they are in memory together. None: all there are."""

    client_settings: Mapping[str, str | int | bool] = field(default_factory=dict, repr=False)
    """Of all clients, by Kafka's names: `{"security.protocol": "SASL_SSL", …}`. Secrets are shown nowhere.

    With Kafka Streams' prefixes of one kind: `main.consumer.`, `restore.consumer.`, `global.consumer.`, `consumer.`,
    `producer.`, `admin.`. Unlike Kafka's, `isolation.level` is read_committed where nothing else is said.
    """

    discovery_interval_ms: int = DISCOVERY_INTERVAL_MS
    """How soon new topics of a pattern and new partitions are noticed while the application runs."""

    checkpoint_directory: str | None = None
    """On storage that all machines see under this path: snapshots of large stores, with
    which tasks begin that have moved."""

    checkpoint_interval_ms: int = INTERVAL_MS
    """How often a task takes a snapshot, if there is enough new in its stores."""

    show_progress: bool = True
    """A catch-up of more than a few seconds has a line on a terminal or in a notebook. Elsewhere there never is one."""

    @classmethod
    def from_properties(
        cls,
        file: str | Path,
        **options: Any,  # Any: the other fields, which are checked as ever
    ) -> Self:
        """Returns the options for the cluster and the login in a `client.properties`, without what the runner decides
        itself. Settings of one kind of client have Kafka Streams' prefixes.

        Raises ConfigError for a file that cannot be used.
        """
        from millstream.spark.kafka_settings import is_of_topology
        from millstream.streams.application.clients import read_streams_properties
        from millstream.streams.client_roles import canonical

        read = read_streams_properties(file, check=_take_any)  # what Spark takes is checked below
        found = {canonical(key): value for key, value in read.items()}
        settings = {key: value for key, value in found.items() if is_of_topology(key)}
        of_one_kind = [key for key in found if key.startswith(PREFIXES_OF_CLIENTS)]
        left = [key for key in of_one_kind if key not in settings]
        if left:
            _LOGGER.warning("%s: a topology on Spark takes no %s", file, some_of(left))
        bootstrap = settings.pop("bootstrap_servers", None)
        if bootstrap is None:
            raise ConfigError(f"{file} has no bootstrap.servers: add where the cluster is")
        own: Mapping[str, str | int | bool] = options.pop("client_settings", {})
        given = settings | {canonical(key): value for key, value in own.items()}
        return cls(bootstrap_servers=bootstrap, client_settings=given, **options)


def _take_any(_key: str, _value: object) -> None:
    """Refuses nothing."""
