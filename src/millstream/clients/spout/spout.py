"""The spout: records of topics one by one, each acked or failed by itself, as Storm's KafkaSpout gives them.

What is given out next, and what may be committed, is decided in `core.emitted_records`; the consumer is used by `pump`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Unpack, cast

from millstream.clients.config import ConsumerSettings
from millstream.clients.config.settings import parse_settings
from millstream.clients.consumer.consumer import Consumer
from millstream.clients.core.client_names import described, first_of
from millstream.clients.core.deserialization import AnyDeserializer
from millstream.clients.spout.core.emitted_records import EmittedRecords
from millstream.clients.spout.core.metrics import PartitionMetrics, SpoutMetrics
from millstream.clients.spout.core.settings import SpoutConfig, SpoutSettings, divided, topic_names
from millstream.clients.spout.message import SpoutHooks, Translate
from millstream.clients.spout.pump import Pump
from millstream.clients.spout.record_spout import RecordSpout
from millstream.errors import ConfigError
from millstream.model import TopicPartition
from millstream.net.network import Environment

Topics = str | Iterable[str] | re.Pattern[str]


class Spout(RecordSpout):
    """Use as `async with Spout(topics, group_id=...) as spout`, then iterate or `run` a handler.

    `topics` is a name, several, or a compiled pattern. Settings are those of SpoutConfig and, except for
    enable_auto_commit, of ConsumerConfig; auto_offset_reset is earliest unless it is given. Any number of tasks may
    iterate; each record goes to one of them. `translate` makes values of a record, after its deserializers.
    """

    def __init__(
        self,
        topics: Topics,
        *,
        translate: Translate | None = None,
        hooks: SpoutHooks | None = None,
        key_deserializer: AnyDeserializer[Any] | None = None,  # Any: whatever it makes
        value_deserializer: AnyDeserializer[Any] | None = None,  # Any: whatever it makes
        environment: Environment | None = None,
        **settings: Unpack[SpoutSettings],
    ) -> None:
        own, of_consumer = _divided(dict(settings))
        self.config = parse_settings(SpoutConfig, own)
        if self.config.max_offset_behind is not None:
            _check_reset(of_consumer)
        self._topics = topics if isinstance(topics, re.Pattern) else topic_names(topics)
        self._emitted = EmittedRecords(self.config)
        super().__init__(
            self.config,
            self._emitted,
            of_consumer,
            deserializers=(key_deserializer, value_deserializer),
            translate=translate,
            hooks=hooks,
            environment=environment,
        )
        self._consumer = Consumer(environment=environment, **cast("ConsumerSettings", of_consumer))
        self._pump: Pump = Pump(
            self._consumer,
            self._emitted,
            self.config,
            hooks=self._hooks,
            settlement=self._settlement,
            clock=self._clock,
            news=self._news.set,
        )

    def __repr__(self) -> str:
        return described(
            self,
            self._consumer.config,
            is_closed=self._scope.is_closed,
            group_id=self._consumer.config.group_id,
            assignment=first_of(self._emitted.partitions),
        )

    def pause(self) -> None:
        """Gives out nothing until `resume`, and commits what is done. Membership and partitions stay."""
        self._pump.commit_soon()
        super().pause()

    def assignment(self) -> set[TopicPartition]:
        """Returns the partitions that the group gave us. A copy."""
        return set(self._emitted.partitions)

    def metrics(self) -> SpoutMetrics:
        """Returns counts since the start, and the offsets of each partition that is ours now."""
        return SpoutMetrics(
            self._emitted.counts,
            {
                topic_partition: PartitionMetrics(
                    earliest_time_offset=self._pump.log_starts.get(topic_partition),
                    latest_time_offset=self._pump.log_ends.get(topic_partition),
                    latest_emitted_offset=offsets.latest_emitted,
                    latest_completed_offset=offsets.committable(),
                    committed_offset=offsets.committed,
                    pending=offsets.pending_count,
                )
                for topic_partition, offsets in self._emitted.partitions.items()
            },
        )

    def _subscribe(self) -> None:
        if isinstance(self._topics, re.Pattern):
            self._consumer.subscribe(pattern=self._topics, listener=self._pump)
        else:
            self._consumer.subscribe(self._topics, listener=self._pump)

    async def _close_consumer(self) -> None:
        await self._consumer.close()


def _divided(settings: dict[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """The settings of the spout itself, and those of its consumer."""
    own, of_consumer = divided(settings, SpoutConfig)
    names = {key.replace(".", "_") for key in of_consumer}
    if "enable_auto_commit" in names:
        raise ConfigError(
            "enable_auto_commit does not apply to a spout, which commits what is acked"
        )
    if "auto_offset_reset" not in names:
        of_consumer["auto_offset_reset"] = "earliest"
    return own, of_consumer | {"enable_auto_commit": False}


def _check_reset(of_consumer: dict[str, object]) -> None:
    reset = of_consumer.get("auto_offset_reset", of_consumer.get("auto.offset.reset"))
    if reset not in {"earliest", "latest"}:
        raise ConfigError(
            f"max_offset_behind goes to where auto_offset_reset says: earliest or latest, got {reset!r}"
        )
