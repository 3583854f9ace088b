"""Settings of Kafka Streams 4.3.1 that StreamsConfig has under another name, or does not
have, and what to write instead.

Those that differ by underscores alone (`num.stream.threads`) are not listed: they are fields of StreamsConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_OF_CLIENTS = (
    "it is a setting of the clients: the third argument of KafkaStreams, RunnerOptions on Spark"
)
PREFIXES_OF_CLIENTS: Final = (
    "main.consumer.",
    "restore.consumer.",
    "global.consumer.",
    "consumer.",
    "producer.",
    "admin.",
)
"""Of Kafka Streams, before the settings of one kind of client."""
PLACES_OF_CLIENTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "StreamsConfig": "it is a setting of a client: the third argument of KafkaStreams takes it with its prefix, RunnerOptions(client_settings=) on Spark",
        "RunnerOptions": 'write client_settings={{"{key}": ...}}',
    }
)
"""By class, where a setting with such a prefix goes."""
_OF_BUILDER = "it is given where the topology is built: "
_METRICS = "there are no metric reporters: read metrics(), which has rates and averages"
_LISTS = "a serde of lists is list_of(inner) of millstream.streams.serdes"
_WINDOWED = (
    "windowed serdes are time_windowed(inner, size_ms) and session_windowed(inner), given as key="
)

SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "allow.os.group.write.access": "the directories of stores are for their user, and readable by its group (0750); a umask can only take from that",
        "bootstrap.servers": _OF_CLIENTS,
        "built.in.metrics.version": "metrics have the names of the newest version",
        "cache.max.bytes.buffering": "write cache_max_bytes=",
        "client.tag": 'write client_tags={"zone": "a"}',
        "config.providers": "values come from where you call; read them there",
        "connections.max.idle.ms": _OF_CLIENTS,
        "default.client.supplier": "the third argument of KafkaStreams may be a ClientSupplier",
        "default.deserialization.exception.handler": "write on_deserialization_error=",
        "default.dsl.store": f"{_OF_BUILDER}StreamsBuilder(store_type=)",
        "default.key.serde": "write default_key=",
        "default.list.key.serde.inner": _LISTS,
        "default.list.key.serde.type": _LISTS,
        "default.list.value.serde.inner": _LISTS,
        "default.list.value.serde.type": _LISTS,
        "default.production.exception.handler": "write on_production_error=",
        "default.timestamp.extractor": "write default_timestamps=",
        "default.value.serde": "write default_value=",
        "deserialization.exception.handler": "write on_deserialization_error=",
        "dsl.store.format": f"{_OF_BUILDER}StreamsBuilder(store_format=)",
        "dsl.store.suppliers.class": f"{_OF_BUILDER}StreamsBuilder(store_type=)",
        "enable.metrics.push": _OF_CLIENTS,
        "ensure.explicit.internal.resource.naming": f"{_OF_BUILDER}StreamsBuilder(explicit_names=)",
        "errors.dead.letter.queue.topic.name": "write dead_letter_topic=",
        "log.summary.interval.ms": "there is no summary in the log: read metrics()",
        "metadata.max.age.ms": _OF_CLIENTS,
        "metadata.recovery.rebootstrap.trigger.ms": _OF_CLIENTS,
        "metadata.recovery.strategy": _OF_CLIENTS,
        "metric.reporters": _METRICS,
        "metrics.num.samples": _METRICS,
        "metrics.sample.window.ms": _METRICS,
        "processing.exception.handler": "write on_processing_error=",
        "processing.exception.handler.global.enabled": "write handle_global_errors=",
        "processor.wrapper.class": f"{_OF_BUILDER}StreamsBuilder(processor_wrapper=)",
        "production.exception.handler": "write on_production_error=",
        "receive.buffer.bytes": _OF_CLIENTS,
        "reconnect.backoff.max.ms": _OF_CLIENTS,
        "reconnect.backoff.ms": _OF_CLIENTS,
        "replication.factor": "the brokers' default.replication.factor counts for internal topics, as with -1 in Kafka Streams",
        "request.timeout.ms": _OF_CLIENTS,
        "retry.backoff.ms": _OF_CLIENTS,
        "security.protocol": _OF_CLIENTS,
        "send.buffer.bytes": _OF_CLIENTS,
        "state.cleanup.dir.max.age.ms": "write state_cleanup_delay_ms=, or delete the directory before the start",
        "statestore.cache.max.bytes": "write cache_max_bytes=",
        "task.assignor.class": "assignors of one's own are not built; group_protocol= chooses between the two that there are",
        "topology.optimization": f"{_OF_BUILDER}StreamsBuilder(optimization=)",
        "upgrade.from": "not needed: members agree on a version of their protocol by themselves (KIP-268)",
        "window.size.ms": _WINDOWED,
        "windowed.inner.class.serde": _WINDOWED,
        "windowstore.changelog.additional.retention.ms": "it is Kafka's default, a day",
    }
)
"""By Kafka's names, with dots."""

OF_RUNNER: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{
            key: f'write client_settings={{"{key}": ...}}'
            for key in ("client.id", "client.rack", "security.protocol", "isolation.level")
        },
        "state.dir": "write directory=",
        "application.id": "it is a setting of StreamsConfig",
        "max.poll.records": "write records_per_trigger_max=",
    }
)
"""Of an application on Spark, by Kafka's names."""
